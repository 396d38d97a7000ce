//! Waiting for conditions.

use std::time::{Duration, Instant};

/// Longest wait for a condition that holds at once on an idle machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until `done` says so.
///
/// # Panics
/// When that takes longer than [`PATIENCE`]; `what` was awaited.
#[track_caller]
pub fn assert_eventually(what: &str, mut done: impl FnMut() -> bool) {
    eventually(what, || done().then_some(()));
}

/// Waits until `find` finds something.
///
/// # Panics
/// When that takes longer than [`PATIENCE`]; `what` was awaited.
#[track_caller]
pub fn eventually<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "waited {PATIENCE:?} in vain: {what}"
        );
        std::thread::sleep(LOOK_EVERY);
    }
}
