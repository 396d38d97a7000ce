//! Weighted choice of a backend.

use crate::table::{Rule, WeightedBackend};

/// Chooses a backend of `rule` by weight from a uniformly distributed `random`. Backends that cannot
/// be used keep their share. `None`: no backend, or all weights are 0.
pub fn choose(rule: &Rule, random: u64) -> Option<&WeightedBackend> {
    let total: u64 = rule.backends.iter().map(|one| u64::from(one.weight)).sum();
    // The high half of the product is uniform over 0..total; a remainder would not be.
    let product = u128::from(random) * u128::from(total);
    let mut point = u64::try_from(product >> 64).ok()?;
    for backend in &rule.backends {
        let weight = u64::from(backend.weight);
        if point < weight {
            return Some(backend);
        }
        point -= weight;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::table::{Backend, Timeouts};

    fn rule(weights: &[u32]) -> Rule {
        Rule {
            route: Arc::from("default/r"),
            index: 0,
            filters: Vec::new(),
            backends: weights
                .iter()
                .enumerate()
                .map(|(pool, weight)| WeightedBackend {
                    weight: *weight,
                    filters: Vec::new(),
                    backend: Backend::Pool(pool),
                })
                .collect(),
            timeouts: Timeouts::default(),
        }
    }

    fn index(backend: &WeightedBackend) -> usize {
        match backend.backend {
            Backend::Pool(index) => index,
            _ => panic!("not a pool"),
        }
    }

    /// SplitMix64: seeded, so that the test has one outcome.
    fn draws(seed: u64) -> impl Iterator<Item = u64> {
        let mut state = seed;
        std::iter::repeat_with(move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }

    #[test]
    fn shares_follow_the_weights() {
        // Critical value of chi-square with 3 degrees of freedom at 0.001.
        const LIMIT: f64 = 16.27;
        let weights = [60_u32, 25, 10, 5];
        let rule = rule(&weights);
        for seed in [1, 2, 3] {
            let mut seen = [0_u32; 4];
            for random in draws(seed).take(10_000) {
                seen[index(choose(&rule, random).unwrap())] += 1;
            }
            let chi: f64 = seen
                .iter()
                .zip(weights)
                .map(|(seen, weight)| {
                    let expected = f64::from(weight) * 100.0;
                    (f64::from(*seen) - expected).powi(2) / expected
                })
                .sum();
            assert!(chi < LIMIT, "{seen:?}: {chi}");
        }
    }

    #[test]
    fn zero_weight_is_never_chosen() {
        let rule = rule(&[0, 1, 0]);
        for random in [0, 1, u64::MAX / 2, u64::MAX] {
            assert_eq!(choose(&rule, random).map(index), Some(1));
        }
    }

    #[test]
    fn all_weights_zero_or_no_backend_chooses_nothing() {
        assert!(choose(&rule(&[0, 0]), 7).is_none());
        assert!(choose(&rule(&[]), 7).is_none());
    }

    #[test]
    fn the_largest_weights_do_not_overflow() {
        let rule = rule(&[1_000_000; 16]);
        assert_eq!(choose(&rule, 0).map(index), Some(0));
        assert_eq!(choose(&rule, u64::MAX).map(index), Some(15));
    }
}
