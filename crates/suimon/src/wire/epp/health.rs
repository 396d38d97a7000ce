//! Whether the picker can be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use suimon_extproc::server::Health;

use super::super::pools::RunningPool;

/// Ready once ports are bound, and each endpoint was scraped or given up; until it drains.
#[derive(Debug)]
pub(super) struct Readiness {
    pool: Arc<RunningPool>,
    bound: Arc<AtomicBool>,
    draining: AtomicBool,
}

/// Well as long as the process answers.
const LIVENESS: &str = "liveness";

const SERVICES: &[&str] = &[
    "",
    "envoy.service.ext_proc.v3.ExternalProcessor",
    LIVENESS,
    "readiness",
];

// === impl Readiness ===

impl Readiness {
    pub(super) fn new(pool: Arc<RunningPool>, bound: Arc<AtomicBool>) -> Self {
        Self {
            pool,
            bound,
            draining: AtomicBool::new(false),
        }
    }

    /// Not ready from now on.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.bound.store(false, Ordering::Release);
    }

    fn is_ready(&self) -> bool {
        !self.draining.load(Ordering::Acquire)
            && self.bound.load(Ordering::Acquire)
            && !self.pool.ready.load().is_empty()
            && self.pool.pending() == 0
    }
}

impl Health for Readiness {
    fn serving(&self, service: &str) -> Option<bool> {
        match service {
            LIVENESS => Some(true),
            service if SERVICES.contains(&service) => Some(self.is_ready()),
            _ => None,
        }
    }

    fn services(&self) -> &[&'static str] {
        SERVICES
    }
}
