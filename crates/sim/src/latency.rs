//! How long a prefill and a decode step take.
//!
//! A delay is drawn from a normal distribution whose mean grows with the number of running
//! sequences, with its deviation limited to 30 % of the mean and the draw to ±70 % of it.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::Rng;

use crate::config::{Calculator, Tuning};

/// Largest deviation as a share of the mean.
const MAX_DEVIATION: f64 = 0.3;

/// A draw stays within this share of the mean.
const MAX_SPREAD: f64 = 0.7;

/// Slowdown with `running` of `slots` sequences: 1 for one sequence, `factor` for all.
pub(crate) fn load_factor(factor: f64, running: usize, slots: usize) -> f64 {
    if slots <= 1 {
        return 1.0;
    }
    let share = running.saturating_sub(1) as f64 / (slots - 1) as f64;
    1.0 + (factor - 1.0) * share
}

// === impl Tuning ===

impl Tuning {
    /// Time from admission to the first token of a prompt of `prompt` tokens, `cached` of which
    /// are in the KV cache.
    pub(crate) fn first_token(
        &self,
        prompt: usize,
        cached: usize,
        load: f64,
        rng: &mut impl Rng,
    ) -> Duration {
        let (mean, deviation) = if self.is_constant() {
            (
                self.time_to_first_token.seconds(),
                self.time_to_first_token_std_dev,
            )
        } else {
            let computed = prompt.saturating_sub(cached) as f64;
            let prefill = self.prefill_time_per_token.seconds() * computed;
            (
                self.prefill_overhead.seconds() + prefill,
                self.prefill_time_std_dev,
            )
        };
        draw(mean * load, deviation.seconds(), rng)
    }

    /// Time from one output token to the next.
    pub(crate) fn inter_token(&self, load: f64, rng: &mut impl Rng) -> Duration {
        let mean = self.inter_token_latency.seconds() * load;
        draw(mean, self.inter_token_latency_std_dev.seconds(), rng)
    }

    fn is_constant(&self) -> bool {
        match self.latency_calculator {
            Calculator::Constant => true,
            Calculator::PerToken => false,
            Calculator::Auto => {
                !self.time_to_first_token.is_zero() || !self.time_to_first_token_std_dev.is_zero()
            }
        }
    }
}

fn draw(mean: f64, deviation: f64, rng: &mut impl Rng) -> Duration {
    let deviation = deviation.min(mean * MAX_DEVIATION);
    let value = if deviation > 0.0 {
        mean + deviation * normal(rng)
    } else {
        mean
    };
    let clamped = value.clamp(mean * (1.0 - MAX_SPREAD), mean * (1.0 + MAX_SPREAD));
    Duration::from_secs_f64(clamped)
}

/// A standard normal draw (Box and Muller).
pub(crate) fn normal(rng: &mut impl Rng) -> f64 {
    // 1 - u is in (0, 1], so the logarithm is finite.
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::delay::Delay;

    fn rng() -> StdRng {
        StdRng::seed_from_u64(7)
    }

    #[test]
    fn load_grows_linearly_to_the_factor() {
        assert_eq!(load_factor(3.0, 1, 5), 1.0);
        assert_eq!(load_factor(3.0, 3, 5), 2.0);
        assert_eq!(load_factor(3.0, 5, 5), 3.0);
        assert_eq!(load_factor(3.0, 0, 5), 1.0);
        assert_eq!(load_factor(3.0, 1, 1), 1.0);
    }

    #[test]
    fn only_uncached_tokens_cost_prefill_time() {
        let tuning = Tuning {
            prefill_overhead: Delay::from_millis(30),
            prefill_time_per_token: Delay::from_micros(250),
            ..Tuning::default()
        };
        let time = tuning.first_token(1000, 600, 2.0, &mut rng());
        assert_eq!(time.as_micros(), 2 * (30_000 + 400 * 250));
    }

    #[test]
    fn a_time_to_first_token_makes_it_constant() {
        let mut tuning = Tuning {
            time_to_first_token: Delay::from_micros(750),
            prefill_overhead: Delay::from_millis(30),
            ..Tuning::default()
        };
        assert_eq!(
            tuning.first_token(1000, 0, 1.0, &mut rng()).as_micros(),
            750
        );
        tuning.latency_calculator = Calculator::PerToken;
        assert_eq!(
            tuning.first_token(1000, 0, 1.0, &mut rng()).as_micros(),
            30_000
        );
    }

    #[test]
    fn draws_keep_the_mean_and_the_limits() {
        let tuning = Tuning {
            inter_token_latency: Delay::from_micros(100),
            // More than 30 % of the mean: limited to 30 us.
            inter_token_latency_std_dev: Delay::from_millis(5),
            ..Tuning::default()
        };
        let mut rng = rng();
        let draws: Vec<f64> = (0..20_000)
            .map(|_| tuning.inter_token(1.0, &mut rng).as_secs_f64() * 1e6)
            .collect();
        assert!(draws.iter().all(|micros| (29.9..=170.1).contains(micros)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 100.0).abs() < 1.0, "{mean}");
        let variance = draws
            .iter()
            .map(|micros| (micros - mean).powi(2))
            .sum::<f64>()
            / draws.len() as f64;
        assert!((variance.sqrt() - 29.0).abs() < 2.0, "{}", variance.sqrt());
    }
}
