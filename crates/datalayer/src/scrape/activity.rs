//! Whether requests are being picked: the scrape rate follows it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// Without a pick for this long the rate is lowered.
pub(super) const IDLE_AFTER: Duration = Duration::from_secs(5);

/// A flag that the request path raises and the scrape loops lower.
#[derive(Debug)]
pub struct Activity {
    state: AtomicU8,
    /// Milliseconds from `origin` to the last time that a loop found the flag raised.
    seen: AtomicU64,
    origin: Instant,
    wake: Notify,
}

/// Nothing was picked since a loop last looked.
const QUIET: u8 = 0;
/// Something was picked since a loop last looked.
const TOUCHED: u8 = 1;
/// The rate is lowered: the next touch must wake the loops.
const IDLE: u8 = 2;

impl Activity {
    /// Tells that a request is being picked. One load of a shared line when requests are frequent.
    pub fn touch(&self) {
        if self.state.load(Ordering::Relaxed) == TOUCHED {
            return;
        }
        if self.state.swap(TOUCHED, Ordering::AcqRel) == IDLE {
            self.wake.notify_waiters();
        }
    }

    /// Completes at the first touch of an idle time. Make it before [`Activity::is_idle`] is asked,
    /// so that no touch falls between.
    pub(super) fn woken(&self) -> Notified<'_> {
        self.wake.notified()
    }

    /// Whether nothing was touched for [`IDLE_AFTER`] at `now`. Lowers the flag.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        let now = now.saturating_duration_since(self.origin).as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        match self.change(TOUCHED, QUIET) {
            Ok(_) => {
                self.seen.store(now, Ordering::Relaxed);
                return false;
            }
            Err(IDLE) => return true,
            Err(_quiet) => {}
        }
        let quiet = now.saturating_sub(self.seen.load(Ordering::Relaxed));
        if u128::from(quiet) < IDLE_AFTER.as_millis() {
            return false;
        }
        // A touch in between wins.
        !matches!(self.change(QUIET, IDLE), Err(TOUCHED))
    }

    /// Whether the time until `when` will have been without a touch if none comes.
    pub(super) fn will_be_idle(&self, when: Instant) -> bool {
        match self.state.load(Ordering::Acquire) {
            IDLE => true,
            QUIET => {
                let when = when.saturating_duration_since(self.origin).as_millis();
                let seen = u128::from(self.seen.load(Ordering::Relaxed));
                when.saturating_sub(seen) >= IDLE_AFTER.as_millis()
            }
            _touched => false,
        }
    }

    fn change(&self, from: u8, to: u8) -> Result<u8, u8> {
        self.state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire)
    }
}

impl Default for Activity {
    /// Starts as if a request had just been picked.
    fn default() -> Self {
        Self {
            state: AtomicU8::new(QUIET),
            seen: AtomicU64::new(0),
            origin: Instant::now(),
            wake: Notify::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_after_a_while_without_touches() {
        let activity = Activity::default();
        let start = activity.origin;
        assert!(!activity.is_idle(start));
        assert!(!activity.is_idle(start + IDLE_AFTER - Duration::from_millis(1)));
        assert!(activity.is_idle(start + IDLE_AFTER));
        assert!(
            activity.is_idle(start + IDLE_AFTER),
            "a second loop finds the same"
        );
        assert!(activity.will_be_idle(start));
        activity.touch();
        assert!(!activity.will_be_idle(start + IDLE_AFTER));
        let later = start + IDLE_AFTER + Duration::from_secs(1);
        assert!(!activity.is_idle(later));
        assert!(!activity.is_idle(later + IDLE_AFTER - Duration::from_millis(1)));
        assert!(activity.is_idle(later + IDLE_AFTER));
    }

    #[tokio::test]
    async fn the_first_touch_of_an_idle_time_wakes() {
        let activity = Activity::default();
        let woken = activity.woken();
        assert!(activity.is_idle(activity.origin + IDLE_AFTER));
        activity.touch();
        woken.await;
    }

    #[tokio::test]
    async fn a_touch_of_a_busy_time_wakes_nobody() {
        let activity = Activity::default();
        let woken = activity.woken();
        activity.touch();
        tokio::pin!(woken);
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(woken.as_mut().poll(cx).is_pending()));
        assert!(polled.await);
    }
}
