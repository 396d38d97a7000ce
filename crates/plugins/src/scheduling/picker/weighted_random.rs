//! `weighted-random-picker`: chooses at random, in proportion to the totals.
//!
//! # What it does
//! Chooses candidates with a probability in proportion to their totals, so that the best does not
//! get everything. Where no total is above 0 all candidates are alike.
//!
//! # Reads
//! Totals.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `maxNumOfEndpoints`.
//!
//! # Example
//! ```yaml
//! type: weighted-random-picker
//! ```

use std::sync::Arc;

use rand::Rng;
use rand::rngs::SmallRng;
use suimon_picker::role::Picker;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

use super::Params;
use super::random::pick_at_random;

/// See the module.
#[derive(Debug)]
pub struct WeightedRandomPicker {
    limit: usize,
}

impl Plugin for WeightedRandomPicker {
    const TYPE: &'static str = "weighted-random-picker";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "chooses at random, in proportion to the totals";
    type Params = Params;

    fn build(params: Params, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            limit: params.limit(),
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.picker(self);
    }
}

// === impl WeightedRandomPicker ===

impl Picker for WeightedRandomPicker {
    fn pick(&self, totals: &[f64], rng: &mut SmallRng, chosen: &mut Vec<u32>) {
        while chosen.len() < self.limit.min(totals.len()) {
            let open = |index: u32, chosen: &[u32]| !chosen.contains(&index);
            let weight = |total: f64| total.max(0.0);
            let sum: f64 = (0_u32..)
                .zip(totals)
                .filter(|(index, _)| open(*index, chosen))
                .map(|(_, &total)| weight(total))
                .sum();
            // No proportions follow from nothing, nor from a sum beyond all numbers.
            if sum <= 0.0 || !sum.is_finite() {
                break;
            }
            let mut left = rng.random_range(0.0..sum);
            let drawn = (0_u32..)
                .zip(totals)
                .filter(|(index, _)| open(*index, chosen))
                .find(|(_, total)| {
                    left -= weight(**total);
                    left < 0.0
                });
            let Some((index, _)) = drawn else { break };
            chosen.push(index);
        }
        if chosen.is_empty() {
            pick_at_random(totals.len(), self.limit, rng, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn draws_follow_the_totals() {
        let mut rng = SmallRng::seed_from_u64(4);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            let mut chosen = Vec::new();
            WeightedRandomPicker { limit: 1 }.pick(&[3.0, 0.0, 1.0], &mut rng, &mut chosen);
            counts[chosen[0] as usize] += 1;
        }
        assert_eq!(counts[1], 0);
        let expected = [7500.0, 0.0, 2500.0];
        let chi: f64 = [0, 2]
            .map(|i| (f64::from(counts[i]) - expected[i]).powi(2) / expected[i])
            .iter()
            .sum();
        // 10.83: the 0.1 % point of chi-square with one degree of freedom.
        assert!(chi < 10.83, "{counts:?}");
    }

    #[test]
    fn without_proportions_all_are_alike() {
        let mut rng = SmallRng::seed_from_u64(5);
        for totals in [[0.0, -1.0, 0.0], [f64::MAX; 3], [f64::INFINITY; 3]] {
            let mut seen = [false; 3];
            for _ in 0..200 {
                let mut chosen = Vec::new();
                WeightedRandomPicker { limit: 1 }.pick(&totals, &mut rng, &mut chosen);
                seen[chosen[0] as usize] = true;
            }
            assert_eq!(seen, [true; 3], "{totals:?}");
        }
    }
}
