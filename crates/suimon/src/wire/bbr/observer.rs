//! What sessions tell, into metrics.

use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use suimon_extproc::bbr::{Ended, Found, Observer};
use suimon_telemetry::metrics::BbrMetrics;

/// Records what sessions tell.
#[derive(Debug)]
pub(super) struct BbrObserver {
    metrics: Arc<BbrMetrics>,
    ended: AtomicU64,
    unseen: Once,
}

// === impl BbrObserver ===

impl BbrObserver {
    pub(super) const fn new(metrics: Arc<BbrMetrics>) -> Self {
        Self {
            metrics,
            ended: AtomicU64::new(0),
            unseen: Once::new(),
        }
    }

    /// Requests that have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Observer for BbrObserver {
    fn ended(&self, end: Ended) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        match end.found {
            Found::Model => {
                self.metrics.success.inc();
            }
            Found::NoModel => self.metrics.not_found(),
            Found::EmptyModel => self.metrics.empty(),
            Found::Unreadable => {
                self.metrics.unreadable.inc();
            }
            Found::Unseen => self.unseen.call_once(|| {
                tracing::error!(
                    "the proxy does not send the bodies of requests before it routes them, so no model \
                     can be found: its request_body_mode has to be FULL_DUPLEX_STREAMED or BUFFERED"
                );
            }),
            Found::Nothing => {}
        }
        if let Some(reason) = end.reason {
            self.metrics.refused(reason.row().label);
        }
    }
}
