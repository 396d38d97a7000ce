//! Time, passed in so that tests can set it.

use std::time::{Instant, SystemTime};

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Monotonic time.
    fn now(&self) -> Instant;

    /// Time of day, for records.
    fn wall(&self) -> SystemTime;
}

/// The machine's own clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "where the time comes from")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "where the time comes from")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}
