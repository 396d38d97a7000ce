//! How many bytes of bodies are held in memory, over all requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use suimon_telemetry::{Blame, Reason};

/// Bytes in memory, and how many there may be.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    limit: AtomicUsize,
}

/// One request's part of a [`Budget`]; given back on drop.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

/// No more bytes may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many bytes of other requests are in memory")]
pub struct Exhausted;

// === impl Budget ===

impl Budget {
    /// A budget of `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            limit: AtomicUsize::new(limit),
        }
    }

    /// Changes the limit to `limit` bytes; what is held stays.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// A share of nothing yet.
    #[must_use]
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

// === impl Share ===

impl Share {
    /// Makes this share `bytes` large; it never shrinks.
    ///
    /// # Errors
    /// There are not as many left.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return Ok(());
        }
        let before = self.budget.used.fetch_add(more, Ordering::Relaxed);
        self.bytes += more;
        if before.saturating_add(more) > self.budget.limit.load(Ordering::Relaxed) {
            return Err(Exhausted);
        }
        Ok(())
    }
}

impl Blame for Exhausted {
    fn reason(&self) -> Reason {
        Reason::Overloaded
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_used_again() {
        let budget = Arc::new(Budget::new(10));
        let mut first = budget.share();
        assert!(first.grow_to(8).is_ok());
        assert!(first.grow_to(4).is_ok());
        let mut second = budget.share();
        assert!(second.grow_to(3).is_err());
        drop(second);
        assert!(first.grow_to(10).is_ok());
        drop(first);
        assert!(budget.share().grow_to(10).is_ok());
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
