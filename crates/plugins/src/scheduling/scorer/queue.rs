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
//! `(max − waiting) / (max − min)` over the candidates where queues differ; 0 where the figure is
//! unknown. Where no queue differs, requests that were sent since the scrape only break ties:
//! `1 − sent / (sent + 32)`. An engine takes several requests into its batch at once, so a few that
//! are on their way are no queue, and a held prefix outweighs them.
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
use suimon_picker::{BuildContext, BuildError, Load, Plugin, Roles, Stability, View};

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
        let known = candidates
            .iter()
            .map(|&place| view.load_of(place))
            .filter(|load| load.fresh);
        let (mut min, mut max) = (u32::MAX, 0);
        for load in known {
            min = min.min(load.scraped_waiting);
            max = max.max(load.scraped_waiting);
        }
        if max > min {
            return least_is_best(view, candidates, scores, |load| load.waiting);
        }
        for (place, score) in candidates.iter().zip(scores) {
            let load = view.load_of(*place);
            *score = if load.fresh { without_queue(load) } else { 0.0 };
        }
    }
}

/// Requests on their way that count as half a queue where there is none.
const HALF: f32 = 32.0;

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
fn without_queue(load: Load) -> f32 {
    let sent = load.waiting.saturating_sub(load.scraped_waiting) as f32;
    1.0 - sent / (sent + HALF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Pool, metrics};

    #[test]
    fn queues_that_differ_are_scored_by_their_place_between_least_and_most() {
        let waiting = |n| Some(metrics().waiting(n));
        let pool = Pool::of([waiting(0), waiting(5), waiting(10), None]);
        assert_eq!(
            pool.score(|v, c, s| QueueScorer.score(v, c, s)),
            [1.0, 0.5, 0.0, 0.0]
        );
    }

    #[test]
    fn equal_queues_get_full_marks() {
        for n in [0, 7] {
            let waiting = || Some(metrics().waiting(n));
            let pool = Pool::of([waiting(), waiting(), None]);
            assert_eq!(
                pool.score(|v, c, s| QueueScorer.score(v, c, s)),
                [1.0, 1.0, 0.0]
            );
        }
    }

    #[test]
    fn requests_on_their_way_only_break_ties_where_there_is_no_queue() {
        let load = |waiting| Load {
            fresh: true,
            waiting,
            ..Load::default()
        };
        assert_eq!(without_queue(load(0)), 1.0);
        assert!(without_queue(load(1)) < 1.0 && without_queue(load(1)) > 0.95);
        assert_eq!(without_queue(load(32)), 0.5);
    }
}
