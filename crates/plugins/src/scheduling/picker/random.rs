//! `random-picker`: chooses at random.
//!
//! # What it does
//! Chooses candidates at random, whatever their totals.
//!
//! # Reads
//! Nothing.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `maxNumOfEndpoints`.
//!
//! # Example
//! ```yaml
//! type: random-picker
//! ```

use std::sync::Arc;

use rand::Rng;
use rand::rngs::SmallRng;
use suimon_picker::role::Picker;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

use super::Params;

/// See the module.
#[derive(Debug)]
pub struct RandomPicker {
    limit: usize,
}

impl Plugin for RandomPicker {
    const TYPE: &'static str = "random-picker";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "chooses at random, whatever the totals";
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

// === impl RandomPicker ===

impl Picker for RandomPicker {
    fn pick(&self, totals: &[f64], rng: &mut SmallRng, chosen: &mut Vec<u32>) {
        pick_at_random(totals.len(), self.limit, rng, chosen);
    }
}

/// Draws up to `limit` of `len` indexes without repeats, in random order.
pub(super) fn pick_at_random(len: usize, limit: usize, rng: &mut SmallRng, chosen: &mut Vec<u32>) {
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    let limit = u32::try_from(limit).unwrap_or(u32::MAX).min(len);
    chosen.extend(0..len);
    for index in 0..limit {
        let other = rng.random_range(index..len);
        chosen.swap(index as usize, other as usize);
    }
    chosen.truncate(limit as usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn every_candidate_is_drawn_alike_and_none_twice() {
        let mut rng = SmallRng::seed_from_u64(3);
        let mut counts = [0_u32; 5];
        for _ in 0..10_000 {
            let mut chosen = Vec::new();
            RandomPicker { limit: 2 }.pick(&[9.0, 0.0, 0.0, 0.0, 0.0], &mut rng, &mut chosen);
            assert_eq!(chosen.len(), 2);
            assert_ne!(chosen[0], chosen[1]);
            counts[chosen[0] as usize] += 1;
        }
        let chi: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - 2000.0).powi(2) / 2000.0)
            .sum();
        // 18.47: the 0.1 % point of chi-square with four degrees of freedom.
        assert!(chi < 18.47, "{counts:?}");
    }
}
