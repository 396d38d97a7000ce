//! Whether requests are taken.

use std::sync::atomic::{AtomicBool, Ordering};

use suimon_extproc::Health;

/// Ready until the process drains.
#[derive(Debug, Default)]
pub(super) struct Readiness {
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
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }
}

impl Health for Readiness {
    /// As the peer does, any name but that of liveness is answered for the whole.
    fn serving(&self, service: &str) -> Option<bool> {
        Some(service == LIVENESS || !self.draining.load(Ordering::Acquire))
    }

    fn services(&self) -> &[&'static str] {
        SERVICES
    }
}
