//! `max-score-picker`: chooses the endpoint with the highest total.
//!
//! # What it does
//! Chooses the best candidates by total; equal totals in random order.
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
//! type: max-score-picker
//! parameters:
//!   maxNumOfEndpoints: 2
//! ```

use std::sync::Arc;

use rand::Rng;
use rand::rngs::SmallRng;
use suimon_picker::role::Picker;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

use super::Params;

/// See the module.
#[derive(Debug)]
pub struct MaxScorePicker {
    limit: usize,
}

impl Plugin for MaxScorePicker {
    const TYPE: &'static str = "max-score-picker";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "chooses the endpoint with the highest total, ties at random";
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

// === impl MaxScorePicker ===

impl Picker for MaxScorePicker {
    fn pick(&self, totals: &[f64], rng: &mut SmallRng, chosen: &mut Vec<u32>) {
        while chosen.len() < self.limit.min(totals.len()) {
            let mut best: Option<(f64, u32)> = None;
            let mut ties = 0_u32;
            for (index, &total) in (0_u32..).zip(totals) {
                if chosen.contains(&index) {
                    continue;
                }
                match best {
                    Some((highest, _)) if total < highest => {}
                    Some((highest, _)) if total == highest => {
                        // Each of n equal totals stays with probability 1/n.
                        ties += 1;
                        if rng.random_range(0..ties) == 0 {
                            best = Some((total, index));
                        }
                    }
                    _ => {
                        ties = 1;
                        best = Some((total, index));
                    }
                }
            }
            let Some((_, index)) = best else { return };
            chosen.push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn pick(limit: usize, totals: &[f64], rng: &mut SmallRng) -> Vec<u32> {
        let mut chosen = Vec::new();
        MaxScorePicker { limit }.pick(totals, rng, &mut chosen);
        chosen
    }

    #[test]
    fn the_highest_totals_come_first() {
        let mut rng = SmallRng::seed_from_u64(1);
        assert_eq!(pick(1, &[0.1, 0.9, 0.5], &mut rng), [1]);
        assert_eq!(pick(2, &[0.1, 0.9, 0.5], &mut rng), [1, 2]);
        assert_eq!(pick(9, &[0.1, 0.9, 0.5], &mut rng), [1, 2, 0]);
        assert_eq!(pick(1, &[-1.0], &mut rng), [0]);
    }

    #[test]
    fn ties_are_broken_evenly() {
        let mut rng = SmallRng::seed_from_u64(2);
        let mut counts = [0_u32; 4];
        for _ in 0..9_000 {
            counts[pick(1, &[1.0, 0.5, 1.0, 1.0], &mut rng)[0] as usize] += 1;
        }
        assert_eq!(counts[1], 0);
        let chi: f64 = [0, 2, 3]
            .map(|i| (f64::from(counts[i]) - 3000.0).powi(2) / 3000.0)
            .iter()
            .sum();
        // 13.82: the 0.1 % point of chi-square with two degrees of freedom.
        assert!(chi < 13.82, "{counts:?}");
    }
}
