//! Gauges that are read off the pools when somebody asks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use suimon_telemetry::metrics::{EndpointLabels, PoolLabel, SourceLabel};

use crate::wire::publish::Publisher;

/// Brings all gauges up to date. Series of endpoints that have gone disappear.
pub(super) fn refresh(publisher: &Publisher) {
    let (metrics, now) = (&publisher.shared().metrics, Instant::now());
    metrics.per_endpoint_queue_size.clear();
    metrics.inflight_requests.clear();
    metrics.inflight_tokens.clear();
    for pool in publisher.pools() {
        let label = PoolLabel {
            name: Arc::clone(&pool.name),
        };
        let endpoints = pool.ready.load_full();
        let mut mean = Mean::default();
        let mut blocks = 0_i64;
        for endpoint in endpoints.iter() {
            let labels = EndpointLabels {
                name: Arc::clone(&pool.name),
                model_server_endpoint: Arc::clone(endpoint.id()),
            };
            let load = endpoint.load(now);
            let requests = i64::from(endpoint.in_flight_requests());
            let tokens = i64::try_from(endpoint.in_flight_tokens()).unwrap_or(i64::MAX);
            metrics
                .inflight_requests
                .get_or_create(&labels)
                .set(requests);
            metrics.inflight_tokens.get_or_create(&labels).set(tokens);
            blocks += i64::from(endpoint.prefix_blocks());
            if load.fresh {
                let queue = metrics.per_endpoint_queue_size.get_or_create(&labels);
                queue.set(i64::from(load.scraped_waiting));
                mean.add(
                    load.scraped_waiting,
                    endpoint.metrics().running,
                    load.kv_usage,
                );
            }
        }
        metrics
            .ready_endpoints
            .get_or_create(&label)
            .set(mean.count);
        metrics
            .prefix_indexer_size
            .get_or_create(&label)
            .set(blocks);
        if let Some([waiting, running, kv_usage]) = mean.values() {
            metrics
                .average_queue_size
                .get_or_create(&label)
                .set(waiting);
            metrics
                .average_running_requests
                .get_or_create(&label)
                .set(running);
            metrics
                .average_kv_cache_utilization
                .get_or_create(&label)
                .set(kv_usage);
        }
        if let Some(picker) = &pool.picker {
            metrics
                .pool_saturation
                .get_or_create(&label)
                .set(picker.saturation());
        }
    }
    let counters = publisher.shared().scraper.counters();
    let source = SourceLabel {
        source_type: "metrics-data-source",
    };
    let (poll, extract) = (counters.poll_errors(), counters.extract_errors());
    metrics
        .poll_errors
        .get_or_create(&source)
        .inner()
        .store(poll, Ordering::Relaxed);
    metrics
        .extract_errors
        .get_or_create(&source)
        .inner()
        .store(extract, Ordering::Relaxed);
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
