//! What tests and `/admin/config` switch while a replica runs.

use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::watch;

use crate::config::Tuning;
use crate::scheduler::Load;

/// Run-time switches of a replica.
#[derive(Debug)]
pub(crate) struct Knobs {
    tuning: RwLock<Tuning>,
    failure: RwLock<Option<StatusCode>>,
    fake_load: RwLock<Option<FakeLoad>>,
    metrics: AtomicBool,
    stalled: watch::Sender<bool>,
}

/// Load that the metrics page tells instead of the true one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FakeLoad {
    /// `vllm:num_requests_running`.
    pub running: usize,
    /// `vllm:num_requests_waiting`.
    pub waiting: usize,
    /// `vllm:kv_cache_usage_perc`, 0 to 1.
    pub kv_cache_usage: f64,
}

// === impl Knobs ===

impl Knobs {
    pub(crate) fn new(tuning: Tuning) -> Self {
        Self {
            tuning: RwLock::new(tuning),
            failure: RwLock::new(None),
            fake_load: RwLock::new(None),
            metrics: AtomicBool::new(true),
            stalled: watch::Sender::new(false),
        }
    }

    pub(crate) fn tuning(&self) -> Tuning {
        self.tuning.read().clone()
    }

    pub(crate) fn set_tuning(&self, tuning: Tuning) {
        *self.tuning.write() = tuning;
    }

    /// Applies the fields of a JSON object, all or none.
    pub(crate) fn patch_tuning(&self, patch: Value) -> Result<(), String> {
        let Value::Object(patch) = patch else {
            return Err("the body is no JSON object".to_owned());
        };
        let mut tuning = self.tuning.write();
        let mut merged = serde_json::to_value(&*tuning).map_err(|error| error.to_string())?;
        for (name, value) in patch {
            merged[name] = value;
        }
        let merged: Tuning = serde_json::from_value(merged).map_err(|error| error.to_string())?;
        merged.validate()?;
        *tuning = merged;
        Ok(())
    }

    pub(crate) fn failure(&self) -> Option<StatusCode> {
        *self.failure.read()
    }

    pub(crate) fn set_failure(&self, status: Option<StatusCode>) {
        *self.failure.write() = status;
    }

    /// The load to tell, given the true one.
    pub(crate) fn told_load(&self, load: Load) -> Load {
        match *self.fake_load.read() {
            None => load,
            Some(fake) => Load {
                running: fake.running,
                waiting: fake.waiting,
                deferred: 0,
                kv_cache_usage: fake.kv_cache_usage,
            },
        }
    }

    pub(crate) fn set_fake_load(&self, load: Option<FakeLoad>) {
        *self.fake_load.write() = load;
    }

    pub(crate) fn has_metrics(&self) -> bool {
        self.metrics.load(Ordering::Relaxed)
    }

    pub(crate) fn set_metrics(&self, on: bool) {
        self.metrics.store(on, Ordering::Relaxed);
    }

    pub(crate) fn set_stalled(&self, stalled: bool) {
        self.stalled.send_replace(stalled);
    }

    /// Returns at once, or when the stall ends; true if there was one.
    pub(crate) async fn pass_stall(&self) -> bool {
        if !*self.stalled.borrow() {
            return false;
        }
        // The sender lives as long as the knobs, so this ends only with the stall.
        self.stalled
            .subscribe()
            .wait_for(|stalled| !stalled)
            .await
            .is_ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::delay::Delay;

    #[test]
    fn a_patch_changes_only_what_it_names() {
        let knobs = Knobs::new(Tuning {
            prefill_overhead: Delay::from_millis(3),
            ..Tuning::default()
        });
        let patch = json!({"inter-token-latency": "250us", "failure-types": ["rate_limit"]});
        knobs.patch_tuning(patch).unwrap();
        let tuning = knobs.tuning();
        assert_eq!(tuning.inter_token_latency, Delay::from_micros(250));
        assert_eq!(tuning.prefill_overhead, Delay::from_millis(3));
        assert_eq!(tuning.failure_types.len(), 1);
    }

    #[test]
    fn a_wrong_patch_changes_nothing_and_names_the_field() {
        let knobs = Knobs::new(Tuning::default());
        for (patch, named) in [
            (
                json!({"inter-token-latency": 5, "inter-token": 1}),
                "inter-token",
            ),
            (
                json!({"inter-token-latency": 5, "failure-injection-rate": 101}),
                "failure-injection-rate",
            ),
            (
                json!({"inter-token-latency": 5, "time-factor-under-load": 0.5}),
                "time-factor-under-load",
            ),
            (json!([1]), "object"),
        ] {
            let error = knobs.patch_tuning(patch).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
        assert_eq!(knobs.tuning(), Tuning::default());
    }
}
