//! Whether the picker takes requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use suimon_extproc::Health;

use crate::wire::pools::RunningPool;

/// Ready once endpoints were found and each was scraped or given up, until the process drains.
#[derive(Debug)]
pub(super) struct Readiness {
    pool: Arc<RunningPool>,
    /// Endpoints that come later do not take readiness away.
    settled: AtomicBool,
    draining: AtomicBool,
}

const SERVICES: &[&str] = &[
    "",
    "envoy.service.ext_proc.v3.ExternalProcessor",
    LIVENESS,
    "readiness",
];

const LIVENESS: &str = "liveness";

// === impl Readiness ===

impl Readiness {
    pub(super) fn of(pool: Arc<RunningPool>) -> Self {
        Self {
            pool,
            settled: AtomicBool::new(false),
            draining: AtomicBool::new(false),
        }
    }

    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        if self.draining.load(Ordering::Acquire) {
            return false;
        }
        if !self.settled.load(Ordering::Acquire) {
            let settled = !self.pool.ready.load().is_empty() && self.pool.pending() == 0;
            self.settled.store(settled, Ordering::Release);
            return settled;
        }
        true
    }
}

impl Health for Readiness {
    /// As the peers do, any name but that of liveness is answered for the whole.
    fn serving(&self, service: &str) -> Option<bool> {
        Some(service == LIVENESS || self.is_ready())
    }

    fn services(&self) -> &[&'static str] {
        SERVICES
    }
}
