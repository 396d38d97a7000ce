//! Gauges of pools and their endpoints, set by whoever asks for the page.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::peer;

/// A gauge of a real number.
pub type FloatGauge = Gauge<f64, AtomicU64>;

/// Label of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PoolLabel {
    /// `namespace/name` of the pool.
    pub name: Arc<str>,
}

/// Labels of an endpoint of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EndpointLabels {
    /// `namespace/name` of the pool.
    pub name: Arc<str>,
    /// Id of the endpoint.
    pub model_server_endpoint: Arc<str>,
}

/// Gauges of pools and their endpoints.
#[derive(Debug)]
pub struct PoolGauges {
    /// Mean KV-cache usage of a pool's fresh endpoints.
    pub average_kv_cache_utilization: Family<PoolLabel, FloatGauge>,
    /// Mean waiting requests of a pool's fresh endpoints.
    pub average_queue_size: Family<PoolLabel, FloatGauge>,
    /// Mean running requests of a pool's fresh endpoints.
    pub average_running_requests: Family<PoolLabel, FloatGauge>,
    /// Endpoints with fresh figures.
    pub ready_endpoints: Family<PoolLabel, Gauge>,
    /// Saturation of a pool.
    pub pool_saturation: Family<PoolLabel, FloatGauge>,
    /// Waiting requests of an endpoint.
    pub per_endpoint_queue_size: Family<EndpointLabels, Gauge>,
    /// Requests of ours in flight at an endpoint.
    pub inflight_requests: Family<EndpointLabels, Gauge>,
    /// Prompt tokens of those requests.
    pub inflight_tokens: Family<EndpointLabels, Gauge>,
    /// Blocks that the prefix index holds of a pool.
    pub prefix_indexer_size: Family<PoolLabel, Gauge>,
}

// === impl PoolGauges ===

impl PoolGauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        Self {
            average_kv_cache_utilization: peer(
                registry,
                "average_kv_cache_utilization",
                "mean KV-cache usage of endpoints with fresh figures",
            ),
            average_queue_size: peer(
                registry,
                "average_queue_size",
                "mean waiting requests of endpoints with fresh figures",
            ),
            average_running_requests: peer(
                registry,
                "average_running_requests",
                "mean running requests of endpoints with fresh figures",
            ),
            ready_endpoints: peer(registry, "ready_endpoints", "endpoints with fresh figures"),
            pool_saturation: peer(
                registry,
                "flow_control_pool_saturation",
                "saturation of the pool, 1 at the set point",
            ),
            per_endpoint_queue_size: peer(
                registry,
                "per_endpoint_queue_size",
                "waiting requests of an endpoint",
            ),
            inflight_requests: peer(
                registry,
                "inflight_requests",
                "requests of this gateway in flight at an endpoint",
            ),
            inflight_tokens: peer(
                registry,
                "inflight_tokens",
                "uncached prompt tokens of the requests in flight at an endpoint",
            ),
            prefix_indexer_size: peer(
                registry,
                "prefix_indexer_size",
                "pairs of block and endpoint in the prefix index",
            ),
        }
    }

    /// Gives every family a series: one without does not show.
    pub(super) fn touch(&self) {
        let empty: Arc<str> = Arc::from("");
        let pool = PoolLabel {
            name: Arc::clone(&empty),
        };
        let endpoint = EndpointLabels {
            name: Arc::clone(&empty),
            model_server_endpoint: empty,
        };
        self.average_kv_cache_utilization
            .get_or_create(&pool)
            .set(0.0);
        self.average_queue_size.get_or_create(&pool).set(0.0);
        self.average_running_requests.get_or_create(&pool).set(0.0);
        self.ready_endpoints.get_or_create(&pool).set(0);
        self.pool_saturation.get_or_create(&pool).set(0.0);
        self.prefix_indexer_size.get_or_create(&pool).set(0);
        self.per_endpoint_queue_size.get_or_create(&endpoint).set(0);
        self.inflight_requests.get_or_create(&endpoint).set(0);
        self.inflight_tokens.get_or_create(&endpoint).set(0);
    }
}
