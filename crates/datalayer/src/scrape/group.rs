//! Endpoints that are read on one timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use super::activity::Activity;

/// Endpoints on one timer: few wakes of the thread, and still small bursts.
pub(super) const SIZE: usize = 20;

/// Time between two reads while no request needs them. Less than figures take to grow stale.
pub(super) const IDLE_PERIOD: Duration = Duration::from_secs(1);

/// The timer that its members wait for.
#[derive(Debug, Default)]
pub(super) struct Group {
    tick: Notify,
    members: AtomicUsize,
    closed: AtomicBool,
}

/// A member's place in its group, free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Group>);

/// When a group ticks.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) period: Duration,
    /// `None`: always at `period`.
    pub(super) activity: Option<Arc<Activity>>,
}

// === impl Group ===

impl Group {
    /// Takes a place. Groups are used on one thread, so that [`Group::has_room`] still holds.
    pub(super) fn join(group: Arc<Self>) -> Place {
        group.members.fetch_add(1, Ordering::Relaxed);
        Place(group)
    }

    pub(super) fn has_room(&self) -> bool {
        self.members.load(Ordering::Relaxed) < SIZE
    }

    /// Whether the timer has ended because the last member left.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ticks until the last member has left.
    pub(super) async fn run(self: Arc<Self>, pace: Pace) {
        // The groups of a process are spread over the period.
        let mut next = Instant::now() + pace.period.mul_f64(rand::random_range(0.0..1.0));
        loop {
            next = pace.wait(next).await;
            if self.members.load(Ordering::Relaxed) == 0 {
                self.closed.store(true, Ordering::Relaxed);
                return;
            }
            self.tick.notify_waiters();
        }
    }
}

// === impl Place ===

impl Place {
    /// Completes at the next tick.
    pub(super) fn tick(&self) -> Notified<'_> {
        self.0.tick.notified()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.members.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Pace ===

impl Pace {
    /// Waits for the tick that is due at `next`; when nothing is asked, for a later one. Returns
    /// when the tick after it is due.
    async fn wait(&self, next: Instant) -> Instant {
        let Some(activity) = &self.activity else {
            tokio::time::sleep_until(next.into()).await;
            return self.after(next);
        };
        let woken = activity.woken();
        if !activity.is_idle(Instant::now()) {
            tokio::time::sleep_until(next.into()).await;
            return self.after(next);
        }
        let late = next + IDLE_PERIOD.saturating_sub(self.period);
        tokio::select! {
            () = woken => self.after(Instant::now()),
            () = tokio::time::sleep_until(late.into()) => self.after(late),
        }
    }

    /// One period after `tick`, give or take a tenth; counted from now if that is past.
    fn after(&self, tick: Instant) -> Instant {
        let period = self.period.mul_f64(rand::random_range(0.9..1.1));
        let now = Instant::now();
        let next = tick + period;
        if next < now { now + period } else { next }
    }
}

#[cfg(test)]
mod tests {
    use super::super::activity::IDLE_AFTER;
    use super::*;

    #[test]
    fn places_are_given_back() {
        let group = Arc::new(Group::default());
        let places: Vec<Place> = (0..SIZE).map(|_| Group::join(Arc::clone(&group))).collect();
        assert!(!group.has_room());
        drop(places);
        assert!(group.has_room());
    }

    #[tokio::test]
    async fn ends_with_its_last_member() {
        let group = Arc::new(Group::default());
        let place = Group::join(Arc::clone(&group));
        let pace = Pace {
            period: Duration::from_millis(1),
            activity: None,
        };
        let run = tokio::spawn(Arc::clone(&group).run(pace));
        place.tick().await;
        assert!(!group.is_closed());
        drop(place);
        run.await.unwrap();
        assert!(group.is_closed());
    }

    #[tokio::test]
    async fn the_first_touch_of_an_idle_time_ticks_at_once() {
        let activity = Arc::new(Activity::default());
        assert!(activity.is_idle(Instant::now() + IDLE_AFTER));
        let pace = Pace {
            period: Duration::from_millis(50),
            activity: Some(Arc::clone(&activity)),
        };
        let begin = Instant::now();
        let (next, ()) = tokio::join!(pace.wait(begin), async { activity.touch() });
        assert!(begin.elapsed() < IDLE_PERIOD);
        assert!(next < Instant::now() + pace.period * 2);
        assert!(!activity.is_idle(Instant::now()));
    }
}
