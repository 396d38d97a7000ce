//! `utilization-detector`: says how full a pool is by queues and KV cache.
//!
//! # What it does
//! At saturation 1.0 requests of negative priority are shed. Used as a filter in a profile it removes
//! endpoints at their limit, unless all are.
//!
//! # Reads
//! Waiting requests and KV-cache usage, as scraped.
//!
//! # Scores
//! Saturation is the mean over the candidates of
//! `max(waiting / queueDepthThreshold, usage / kvCacheUtilThreshold)`. An endpoint without figures
//! younger than `metricsStalenessThreshold` counts as 1, and so does an empty pool. While no request
//! comes and scrapes are rarer on purpose, figures may be older by as much.
//!
//! # Parameters
//! `queueDepthThreshold`, `kvCacheUtilThreshold`, `metricsStalenessThreshold`, `headroom`.
//!
//! # Example
//! ```yaml
//! type: utilization-detector
//! parameters:
//!   queueDepthThreshold: 10
//! ```

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suimon_api::duration::parse_go;
use suimon_picker::role::{Filter, SaturationDetector};
use suimon_picker::{BuildContext, BuildError, Load, Plugin, Roles, Stability, View};

/// Parameters of `utilization-detector`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Waiting requests at which an endpoint counts as full; above 0.
    pub queue_depth_threshold: i64,
    /// KV-cache usage at which an endpoint counts as full; above 0, at most 1.
    pub kv_cache_util_threshold: f64,
    /// Age from which figures count as unknown, as in `200ms`; above 0.
    pub metrics_staleness_threshold: String,
    /// Share by which the filter lets an endpoint exceed its limits; 0 or above.
    pub headroom: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            queue_depth_threshold: 5,
            kv_cache_util_threshold: 0.8,
            metrics_staleness_threshold: "200ms".to_owned(),
            headroom: 0.0,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct UtilizationDetector {
    queue_depth: f64,
    kv_usage: f64,
    stale_after: Duration,
    headroom: f64,
}

impl Plugin for UtilizationDetector {
    const TYPE: &'static str = "utilization-detector";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "says how full a pool is by queues and KV cache";
    type Params = Params;

    #[expect(clippy::cast_precision_loss, reason = "a threshold")]
    fn build(params: Params, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        let value = |field, why| Err(BuildError::Value { field, why });
        if params.queue_depth_threshold <= 0 {
            let got = params.queue_depth_threshold;
            return value("queueDepthThreshold", format!("must be above 0, got {got}"));
        }
        let kv_usage = params.kv_cache_util_threshold;
        if !(kv_usage > 0.0 && kv_usage <= 1.0) {
            let why = format!("must be above 0 and at most 1, got {kv_usage}");
            return value("kvCacheUtilThreshold", why);
        }
        if params.headroom.is_nan() || params.headroom < 0.0 {
            return value(
                "headroom",
                format!("must be 0 or above, got {}", params.headroom),
            );
        }
        let text = &params.metrics_staleness_threshold;
        let stale_after = match parse_go(text) {
            Ok(duration) if !duration.is_zero() => duration,
            _ => {
                let why = format!("must be a duration above 0, as in `200ms`, got `{text}`");
                return value("metricsStalenessThreshold", why);
            }
        };
        Ok(Self {
            queue_depth: params.queue_depth_threshold as f64,
            kv_usage,
            stale_after,
            headroom: params.headroom,
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.detector(Arc::clone(&self)).filter(self);
    }
}

// === impl UtilizationDetector ===

impl UtilizationDetector {
    /// How full one endpoint is; `None`: unknown.
    fn utilization(&self, load: &Load) -> Option<f64> {
        let known = load.fresh && load.late <= self.stale_after;
        let queue = f64::from(load.scraped_waiting) / self.queue_depth;
        known.then(|| queue.max(f64::from(load.kv_usage) / self.kv_usage))
    }
}

impl SaturationDetector for UtilizationDetector {
    #[expect(clippy::cast_precision_loss, reason = "a mean")]
    fn saturation(&self, view: &View<'_>, candidates: &[u32]) -> f64 {
        if candidates.is_empty() {
            return 1.0;
        }
        let each = candidates
            .iter()
            .map(|&place| self.utilization(&view.load_of(place)).unwrap_or(1.0));
        each.sum::<f64>() / candidates.len() as f64
    }
}

impl Filter for UtilizationDetector {
    fn filter(&self, view: &View<'_>, candidates: &mut Vec<u32>) {
        let room = |place: &u32| {
            let utilization = self.utilization(&view.load_of(*place));
            utilization.is_some_and(|utilization| utilization < 1.0 + self.headroom)
        };
        if candidates.iter().any(room) {
            candidates.retain(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pool, build, metrics};

    fn saturation(pool: &Pool) -> f64 {
        let detector = build::<UtilizationDetector>(Params::default()).unwrap();
        pool.view(|view, candidates| detector.saturation(view, candidates))
    }

    #[test]
    fn is_the_mean_of_the_fuller_of_queue_and_cache() {
        let full = metrics().waiting(5);
        let half = metrics().kv_usage(0.4);
        let over = metrics().waiting(10).kv_usage(0.1);
        assert_eq!(saturation(&Pool::of([Some(metrics())])), 0.0);
        assert_eq!(saturation(&Pool::of([Some(full), Some(metrics())])), 0.5);
        assert!((saturation(&Pool::of([Some(half)])) - 0.5).abs() < 1e-6);
        assert_eq!(saturation(&Pool::of([Some(over)])), 2.0);
    }

    #[test]
    fn unknown_and_empty_count_as_full() {
        assert_eq!(saturation(&Pool::of([None])), 1.0);
        assert_eq!(saturation(&Pool::of([])), 1.0);
        let stale = metrics().age(Duration::from_millis(201));
        assert_eq!(saturation(&Pool::of([Some(stale)])), 1.0);
        let rare = metrics()
            .age(Duration::from_millis(900))
            .grace(Duration::from_secs(1));
        assert_eq!(
            saturation(&Pool::of([Some(rare)])),
            0.0,
            "scrapes are rare while idle"
        );
        let recent = metrics().age(Duration::from_millis(199));
        assert_eq!(saturation(&Pool::of([Some(recent)])), 0.0);
    }

    #[test]
    fn as_a_filter_it_keeps_those_with_room_unless_none_has() {
        let detector = build::<UtilizationDetector>(Params::default()).unwrap();
        let keep = |pool: &Pool| {
            pool.view(|view, candidates| {
                let mut left = candidates.to_vec();
                detector.filter(view, &mut left);
                left
            })
        };
        let busy = || Some(metrics().waiting(5));
        assert_eq!(keep(&Pool::of([busy(), Some(metrics()), None])), [1]);
        assert_eq!(keep(&Pool::of([busy(), busy(), None])), [0, 1, 2]);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |params: serde_json::Value, field: &str| {
            let params: Params = serde_json::from_value(params).unwrap();
            let error = build::<UtilizationDetector>(params)
                .unwrap_err()
                .to_string();
            assert!(error.contains(field), "{error}");
        };
        refused(
            serde_json::json!({"queueDepthThreshold": 0}),
            "queueDepthThreshold",
        );
        refused(
            serde_json::json!({"kvCacheUtilThreshold": 1.1}),
            "kvCacheUtilThreshold",
        );
        refused(
            serde_json::json!({"metricsStalenessThreshold": "0s"}),
            "metricsStaleness",
        );
        refused(
            serde_json::json!({"metricsStalenessThreshold": "soon"}),
            "metricsStaleness",
        );
        refused(serde_json::json!({"headroom": -1.0}), "headroom");
    }
}
