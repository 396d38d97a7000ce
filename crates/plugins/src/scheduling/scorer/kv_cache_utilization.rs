//! `kv-cache-utilization-scorer`: prefers endpoints with free KV cache.
//!
//! # What it does
//! Keeps requests from endpoints that would have to preempt or evict soon.
//!
//! # Reads
//! Share of KV-cache blocks in use, as scraped.
//!
//! # Scores
//! `1 − usage`; 0 where the figure is unknown.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: kv-cache-utilization-scorer
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::role::Scorer;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability, View};

/// See the module.
#[derive(Debug)]
pub struct KvCacheUtilizationScorer;

impl Plugin for KvCacheUtilizationScorer {
    const TYPE: &'static str = "kv-cache-utilization-scorer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "prefers endpoints with free KV cache";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.scorer(self);
    }
}

// === impl KvCacheUtilizationScorer ===

impl Scorer for KvCacheUtilizationScorer {
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]) {
        for (place, score) in candidates.iter().zip(scores) {
            let load = view.load_of(*place);
            *score = if load.fresh { 1.0 - load.kv_usage } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pool, metrics};

    #[test]
    fn scores_what_is_free() {
        let pool = Pool::of([
            Some(metrics().kv_usage(0.0)),
            Some(metrics().kv_usage(0.25)),
            Some(metrics().kv_usage(1.0)),
            None,
        ]);
        let scores = pool.score(|v, c, s| KvCacheUtilizationScorer.score(v, c, s));
        assert_eq!(scores, [1.0, 0.75, 0.0, 0.0]);
    }
}
