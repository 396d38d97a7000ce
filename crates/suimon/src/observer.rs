//! What the data plane tells, into metrics.

use std::sync::Arc;

use suimon_proxy::{Observer, RequestEnd};
use suimon_telemetry::metrics::{Ended, RequestKey, RouteLabels};
use suimon_telemetry::{BoundedSet, Metrics};

/// Records what the data plane tells.
#[derive(Debug)]
pub struct MetricsObserver {
    metrics: Arc<Metrics>,
    /// Routes come from the configuration; the bound only guards against one that changes for ever.
    routes: BoundedSet,
}

const ROUTES: usize = 10_000;

// === impl MetricsObserver ===

impl MetricsObserver {
    /// Records into `metrics`.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            routes: BoundedSet::new(ROUTES),
        }
    }
}

impl Observer for MetricsObserver {
    fn request_ended(&self, end: &RequestEnd<'_>) {
        let labels = RouteLabels {
            route: self.routes.admit(end.route),
            status: end.status,
            outcome: end.outcome,
        };
        self.metrics.responses.get_or_create(&labels).inc();
        if let Some(pick) = end.pick {
            self.metrics.pick_duration.observe(pick.as_secs_f64());
        }
        if !end.is_pool {
            return;
        }
        let key = RequestKey {
            model: self.metrics.models.admit(end.model),
            target_model: self.metrics.models.admit(end.target_model),
            priority: end.priority,
        };
        self.metrics.request(&key).ended(&Ended {
            error: end.reason.map(|reason| reason.row().label),
            duration: end.duration,
            first_byte: end.first_byte,
            streamed: end.streamed,
            request_bytes: end.request_bytes,
            response_bytes: end.response_bytes,
            prompt_tokens: end.prompt_tokens,
            cached_tokens: end.cached_tokens,
            completion_tokens: end.completion_tokens,
        });
    }

    fn retried(&self, _: Option<&str>) {
        self.metrics.retries.inc();
    }

    fn connection_opened(&self) {
        self.metrics.connections.inc();
    }

    fn connection_closed(&self) {
        self.metrics.connections.dec();
    }
}
