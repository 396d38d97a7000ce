//! Chooses among scored candidates.

use rand::rngs::SmallRng;

/// Chooses endpoints by their totals.
///
/// Runs last in a profile, on what filters left. Ties are broken at random, never by place.
pub trait Picker: Send + Sync {
    /// Writes indexes into `totals`, best first, without repeats, to `chosen`, which starts empty.
    /// `totals` is never empty; at least one index must be written.
    fn pick(&self, totals: &[f64], rng: &mut SmallRng, chosen: &mut Vec<u32>);
}
