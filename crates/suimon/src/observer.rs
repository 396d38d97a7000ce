//! What the data plane and the external processor tell, into metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use suimon_extproc as extproc;
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

/// Records what the external processor tells, under the same names.
#[derive(Debug)]
pub struct ProcessorObserver {
    metrics: Arc<Metrics>,
    /// Stands where a gateway has the route, which only the proxy knows.
    pool: Arc<str>,
    ended: AtomicU64,
}

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

// === impl ProcessorObserver ===

impl ProcessorObserver {
    /// Records the requests of `pool` into `metrics`.
    #[must_use]
    pub const fn new(metrics: Arc<Metrics>, pool: Arc<str>) -> Self {
        Self {
            metrics,
            pool,
            ended: AtomicU64::new(0),
        }
    }

    /// Requests that have ended so far.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }
}

impl extproc::Observer for ProcessorObserver {
    fn ended(&self, end: &extproc::Ended<'_>) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        let labels = RouteLabels {
            route: Arc::clone(&self.pool),
            status: end.status,
            outcome: end.outcome,
        };
        self.metrics.responses.get_or_create(&labels).inc();
        if let Some(pick) = end.pick {
            self.metrics.pick_duration.observe(pick.as_secs_f64());
        }
        let key = RequestKey {
            model: self.metrics.models.admit(end.model),
            target_model: self.metrics.models.admit(end.target_model),
            priority: end.priority,
        };
        let usage = end.usage.unwrap_or_default();
        self.metrics.request(&key).ended(&Ended {
            error: end.reason.map(|reason| reason.row().label),
            duration: end.duration,
            first_byte: end.first_byte,
            streamed: end.streamed,
            request_bytes: end.request_bytes,
            response_bytes: end.response_bytes,
            prompt_tokens: usage.prompt,
            cached_tokens: usage.cached,
            completion_tokens: usage.completion,
        });
    }

    fn connection_opened(&self) {
        self.metrics.connections.inc();
    }

    fn connection_closed(&self) {
        self.metrics.connections.dec();
    }
}
