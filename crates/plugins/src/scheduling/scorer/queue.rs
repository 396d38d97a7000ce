//! `queue-scorer`: prefers endpoints with few waiting requests.
//!
//! # What it does
//! Spreads requests away from queues that have built up.
//!
//! # Reads
//! Waiting requests as scraped, plus the requests that were sent since the scrape began: those the
//! scrape cannot have counted. So requests that arrive together do not all see the same idle
//! endpoint.
//!
//! # Scores
//! `(max − waiting) / (max − min)` over the candidates; 1 where all wait alike; 0 where the figure is
//! unknown.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: queue-scorer
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::role::Scorer;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability, View};

use super::least_is_best;

/// See the module.
#[derive(Debug)]
pub struct QueueScorer;

impl Plugin for QueueScorer {
    const TYPE: &'static str = "queue-scorer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "prefers endpoints with few waiting requests";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.scorer(self);
    }
}

// === impl QueueScorer ===

impl Scorer for QueueScorer {
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]) {
        least_is_best(view, candidates, scores, |load| load.waiting);
    }
}
