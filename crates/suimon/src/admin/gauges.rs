//! Gauges that are read off the pools when somebody asks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use suimon_picker::Endpoint;
use suimon_telemetry::metrics::{EndpointLabels, PoolGauges, PoolLabel, SourceLabel};

use crate::wire::publish::Publisher;

/// Brings all gauges up to date. Series of endpoints that have gone disappear.
pub(super) fn refresh(publisher: &Publisher) {
    let (metrics, now) = (&publisher.shared().metrics, Instant::now());
    metrics.pools.per_endpoint_queue_size.clear();
    metrics.pools.inflight_requests.clear();
    metrics.pools.inflight_tokens.clear();
    for pool in publisher.pools() {
        let gauges = PoolOf {
            gauges: &metrics.pools,
            name: &pool.name,
        };
        gauges.set_load(&pool.ready.load(), now);
        if let Some(picker) = &pool.picker {
            let saturation = metrics.pools.pool_saturation.get_or_create(&gauges.label());
            saturation.set(picker.saturation());
        }
    }
    let counters = publisher.shared().scraper.counters();
    let source = SourceLabel {
        source_type: "metrics-data-source",
    };
    for (family, count) in [
        (&metrics.poll_errors, counters.poll_errors()),
        (&metrics.extract_errors, counters.extract_errors()),
    ] {
        let counter = family.get_or_create(&source);
        counter.inner().store(count, Ordering::Relaxed);
    }
}

/// The gauges of one pool.
struct PoolOf<'a> {
    gauges: &'a PoolGauges,
    name: &'a Arc<str>,
}

// === impl PoolOf ===

impl PoolOf<'_> {
    fn label(&self) -> PoolLabel {
        PoolLabel {
            name: Arc::clone(self.name),
        }
    }

    fn set_load(&self, endpoints: &[Arc<Endpoint>], now: Instant) {
        let (gauges, label) = (self.gauges, self.label());
        let mut mean = Mean::default();
        let mut blocks = 0_i64;
        for endpoint in endpoints {
            self.set_endpoint(endpoint, now, &mut mean);
            blocks += i64::from(endpoint.prefix_blocks());
        }
        let ready = gauges.ready_endpoints.get_or_create(&label);
        ready.set(mean.count);
        let indexed = gauges.prefix_indexer_size.get_or_create(&label);
        indexed.set(blocks);
        if let Some(means) = mean.values() {
            let families = [
                &gauges.average_queue_size,
                &gauges.average_running_requests,
                &gauges.average_kv_cache_utilization,
            ];
            for (family, mean) in families.into_iter().zip(means) {
                family.get_or_create(&label).set(mean);
            }
        }
    }

    fn set_endpoint(&self, endpoint: &Endpoint, now: Instant, mean: &mut Mean) {
        let gauges = self.gauges;
        let labels = EndpointLabels {
            name: Arc::clone(self.name),
            model_server_endpoint: Arc::clone(endpoint.id()),
        };
        let requests = gauges.inflight_requests.get_or_create(&labels);
        requests.set(i64::from(endpoint.in_flight_requests()));
        let tokens = gauges.inflight_tokens.get_or_create(&labels);
        tokens.set(i64::try_from(endpoint.in_flight_tokens()).unwrap_or(i64::MAX));
        let load = endpoint.load(now);
        if load.fresh {
            let queue = gauges.per_endpoint_queue_size.get_or_create(&labels);
            queue.set(i64::from(load.scraped_waiting));
            let running = endpoint.metrics().running;
            mean.add(load.scraped_waiting, running, load.kv_usage);
        }
    }
}

/// Means over endpoints with fresh figures.
#[derive(Debug, Default)]
struct Mean {
    count: i64,
    sums: [f64; 3],
}

impl Mean {
    fn add(&mut self, waiting: u32, running: u32, kv_usage: f32) {
        self.count += 1;
        let values = [f64::from(waiting), f64::from(running), f64::from(kv_usage)];
        self.sums
            .iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of endpoints")]
    fn values(&self) -> Option<[f64; 3]> {
        (self.count > 0).then(|| self.sums.map(|sum| sum / self.count as f64))
    }
}
