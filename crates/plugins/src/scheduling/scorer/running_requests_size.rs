//! `running-requests-size-scorer`: prefers endpoints with few running requests.
//!
//! # What it does
//! Spreads requests over the batches of the endpoints.
//!
//! # Reads
//! Running requests as scraped, plus the requests that were sent since the scrape began: those the
//! scrape cannot have counted. So requests that arrive together do not all see the same idle
//! endpoint.
//!
//! # Scores
//! `(max − running) / (max − min)` over the candidates; 1 where all run alike; 0 where the figure is
//! unknown.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: running-requests-size-scorer
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::role::Scorer;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability, View};

use super::least_is_best;

/// See the module.
#[derive(Debug)]
pub struct RunningRequestsSizeScorer;

impl Plugin for RunningRequestsSizeScorer {
    const TYPE: &'static str = "running-requests-size-scorer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "prefers endpoints with few running requests";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.scorer(self);
    }
}

// === impl RunningRequestsSizeScorer ===

impl Scorer for RunningRequestsSizeScorer {
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]) {
        least_is_best(view, candidates, scores, |load| load.running);
    }
}
