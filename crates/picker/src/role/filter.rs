//! Removes candidates.

use crate::view::View;

/// Removes candidates of a profile that must not get the request.
///
/// Runs in the order of the profile, each on what the one before left. An empty result ends the
/// profile: there is no way back to what was removed.
///
/// Laws: the result is a subset of the input in the same order; the same input gives the same result,
/// save for filters that explore at random.
pub trait Filter: Send + Sync {
    /// Keeps only the places in `candidates` that may get the request.
    fn filter(&self, view: &View<'_>, candidates: &mut Vec<u32>);
}
