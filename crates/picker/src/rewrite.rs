//! InferenceModelRewrite: which model an endpoint is asked for.

use std::collections::HashMap;
use std::sync::Arc;

use rand::Rng;

/// The rewrite rules of one pool.
#[derive(Debug, Clone, Default)]
pub struct RewriteTable {
    exact: HashMap<Arc<str>, Arc<Rule>>,
    generic: Option<Arc<Rule>>,
}

/// One rule with its targets.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of the InferenceModelRewrite.
    pub rewrite: Arc<str>,
    /// Models to use instead, with their weights.
    pub targets: Vec<(Arc<str>, Option<u32>)>,
}

// === impl RewriteTable ===

impl RewriteTable {
    /// A table of `rules` in the order of precedence: models that each is for (none: all) and the
    /// rule. The first rule that names a model wins it; a rule for all models comes after those.
    #[must_use]
    pub fn new(rules: impl IntoIterator<Item = (Vec<Arc<str>>, Rule)>) -> Self {
        let mut table = Self::default();
        for (models, rule) in rules {
            let rule = Arc::new(rule);
            if models.is_empty() && table.generic.is_none() {
                table.generic = Some(Arc::clone(&rule));
            }
            for model in models {
                table
                    .exact
                    .entry(model)
                    .or_insert_with(|| Arc::clone(&rule));
            }
        }
        table
    }

    /// The rule for `model`; the empty name stands for a request that names none.
    #[must_use]
    pub fn rule(&self, model: &str) -> Option<&Arc<Rule>> {
        self.exact.get(model).or(self.generic.as_ref())
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.generic.is_none()
    }

    /// Every model that the rules mention, on either side: names that metrics never fold.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        let targets = self
            .exact
            .values()
            .chain(&self.generic)
            .flat_map(|rule| &rule.targets);
        self.exact.keys().chain(targets.map(|(name, _)| name))
    }
}

// === impl Rule ===

impl Rule {
    /// Draws a target by weight. Without any weight all targets are alike; where only some have a
    /// weight, those without get nothing.
    #[must_use]
    pub fn draw(&self, rng: &mut impl Rng) -> Option<&Arc<str>> {
        let total: u64 = self
            .targets
            .iter()
            .map(|(_, w)| u64::from(w.unwrap_or(0)))
            .sum();
        if total == 0 {
            let index = rng.random_range(0..self.targets.len().max(1));
            return self.targets.get(index).map(|(name, _)| name);
        }
        let mut left = rng.random_range(0..total);
        for (name, weight) in &self.targets {
            let weight = u64::from(weight.unwrap_or(0));
            if left < weight {
                return Some(name);
            }
            left -= weight;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    fn rule(targets: &[(&str, Option<u32>)]) -> Rule {
        Rule {
            rewrite: Arc::from("r"),
            targets: targets.iter().map(|&(n, w)| (Arc::from(n), w)).collect(),
        }
    }

    /// Chi-square of `counts` against `shares` (which sum to 1).
    fn chi_square(counts: &[u32], shares: &[f64]) -> f64 {
        let total: u32 = counts.iter().sum();
        counts
            .iter()
            .zip(shares)
            .map(|(&count, share)| {
                let expected = share * f64::from(total);
                (f64::from(count) - expected).powi(2) / expected
            })
            .sum()
    }

    #[test]
    fn draws_follow_the_weights() {
        let rule = rule(&[("stable", Some(90)), ("canary", Some(10))]);
        let mut rng = SmallRng::seed_from_u64(7);
        let mut counts = [0_u32; 2];
        for _ in 0..10_000 {
            counts[usize::from(&**rule.draw(&mut rng).unwrap() == "canary")] += 1;
        }
        // 10.83: the 0.1 % point of chi-square with one degree of freedom.
        assert!(chi_square(&counts, &[0.9, 0.1]) < 10.83, "{counts:?}");
    }

    #[test]
    fn without_weights_all_targets_are_alike() {
        let rule = rule(&[("a", None), ("b", None), ("c", None)]);
        let mut rng = SmallRng::seed_from_u64(7);
        let mut counts = [0_u32; 3];
        for _ in 0..10_000 {
            counts[usize::from(rule.draw(&mut rng).unwrap().as_bytes()[0] - b'a')] += 1;
        }
        // 13.82: the 0.1 % point with two degrees of freedom.
        assert!(chi_square(&counts, &[1.0 / 3.0; 3]) < 13.82, "{counts:?}");
    }

    #[test]
    fn no_targets_draw_nothing() {
        assert_eq!(rule(&[]).draw(&mut SmallRng::seed_from_u64(1)), None);
    }

    #[test]
    fn exact_rules_come_before_generic_ones_and_the_first_wins() {
        let table = RewriteTable::new([
            (vec![Arc::from("llama3")], rule(&[("first", None)])),
            (vec![Arc::from("llama3")], rule(&[("second", None)])),
            (vec![], rule(&[("any", None)])),
            (vec![], rule(&[("later", None)])),
        ]);
        let target = |model: &str| table.rule(model).unwrap().targets[0].0.to_string();
        assert_eq!(target("llama3"), "first");
        assert_eq!(target("other"), "any");
        assert_eq!(target(""), "any");
    }
}
