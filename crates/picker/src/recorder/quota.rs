//! How many decisions are written down.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lets through as many a second as are kept, and as many at once after a quiet second.
///
/// More than that pushes each other out before anybody can look, and writing one down costs about
/// half of a pick. Races of concurrent picks let at most a few more through.
#[derive(Debug)]
pub(super) struct Quota {
    /// Nanoseconds that one takes of a second; `None` lets none through.
    share: Option<u64>,
    origin: OnceLock<Instant>,
    /// Nanoseconds after `origin` until which the quota is used up.
    used: AtomicU64,
}

const SECOND: u64 = 1_000_000_000;

// === impl Quota ===

impl Quota {
    pub(super) const fn new(a_second: usize) -> Self {
        Self {
            share: SECOND.checked_div(a_second as u64),
            origin: OnceLock::new(),
            used: AtomicU64::new(0),
        }
    }

    /// Whether one more may pass at `now`.
    pub(super) fn take(&self, now: Instant) -> bool {
        let Some(share) = self.share else {
            return false;
        };
        let since = now.saturating_duration_since(*self.origin.get_or_init(|| now));
        // The origin lies a second back, so that the first second has its burst too.
        let at = nanos(since) + SECOND;
        let used = self.used.load(Ordering::Relaxed).max(at - SECOND) + share;
        let fits = used <= at;
        if fits {
            self.used.store(used, Ordering::Relaxed);
        }
        fits
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, SystemClock};

    #[test]
    fn a_burst_passes_and_then_a_steady_rate() {
        let quota = Quota::new(10);
        let start = SystemClock.now();
        let passed = |at: u64| {
            let now = start + Duration::from_millis(at);
            (0..100).filter(|_| quota.take(now)).count()
        };
        assert_eq!(passed(0), 10, "all of the first second's at once");
        assert_eq!(passed(50), 0);
        assert_eq!(passed(100), 1);
        assert_eq!(passed(400), 3);
        assert_eq!(
            passed(60_000),
            10,
            "no more than a second's after a quiet minute"
        );
    }

    #[test]
    fn none_pass_where_none_are_kept() {
        assert!(!Quota::new(0).take(SystemClock.now()));
    }
}
