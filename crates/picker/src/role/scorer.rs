//! Scores candidates.

use crate::view::View;

/// Says how well each candidate suits the request, from one point of view.
///
/// Runs after the filters of a profile. The engine clamps what it writes to 0..=1 (NaN counts as 0),
/// multiplies it by the weight of the profile entry and adds it up.
///
/// Laws: the scores do not depend on the order of the candidates; equal endpoints score alike; an
/// endpoint whose state is unknown scores no better than it would idle; no allocation.
///
/// Cost: one call a profile; a loop over slices, no look-ups.
pub trait Scorer: Send + Sync {
    /// Writes a score for each of `candidates` to the same place in `scores`, which starts as zeros.
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]);
}
