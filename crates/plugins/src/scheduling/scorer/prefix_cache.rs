//! `prefix-cache-scorer`: prefers endpoints that hold the start of the prompt in their KV cache.
//!
//! # What it does
//! Sends the next turn of a conversation, or a prompt with a known preamble, where its prefix was
//! computed before.
//!
//! # Reads
//! `PrefixCacheMatchInfo` of a producer: blocks held, blocks in all, tokens in a block.
//!
//! # Scores
//! `w · min(1, held tokens / scale)² + (1 − w) · held / all` with `w = matchLengthWeight` and
//! `scale = matchLengthScaleTokens`; 0 where nothing is known.
//!
//! # Parameters
//! `prefixMatchInfoProducerName`, `matchLengthWeight`, `matchLengthScaleTokens`.
//!
//! # Example
//! ```yaml
//! type: prefix-cache-scorer
//! parameters:
//!   matchLengthWeight: 0.5
//! ```

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suimon_picker::attribute::{PrefixMatch, PrefixMatchValue};
use suimon_picker::role::Scorer;
use suimon_picker::{BuildContext, BuildError, Key, Plugin, Roles, Stability, View};

/// Parameters of `prefix-cache-scorer`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Instance that says what is held; empty: `approx-prefix-cache-producer`.
    pub prefix_match_info_producer_name: String,
    /// Weight of the length of the match against its share of the prompt, 0 to 1.
    pub match_length_weight: f64,
    /// Length of a match, in tokens, that counts in full; above 0.
    pub match_length_scale_tokens: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            prefix_match_info_producer_name: String::new(),
            match_length_weight: 0.0,
            match_length_scale_tokens: 8192,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct PrefixCacheScorer {
    matches: Key<PrefixMatch>,
    length_weight: f32,
    scale_tokens: f32,
}

impl Plugin for PrefixCacheScorer {
    const TYPE: &'static str = "prefix-cache-scorer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str =
        "prefers endpoints that hold the start of the prompt in their KV cache";
    type Params = Params;

    #[expect(clippy::cast_possible_truncation, reason = "a weight of 0..=1")]
    #[expect(clippy::cast_precision_loss, reason = "a scale")]
    fn build(params: Params, cx: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        let weight = params.match_length_weight;
        if !(0.0..=1.0).contains(&weight) {
            return Err(BuildError::Value {
                field: "matchLengthWeight",
                why: format!("must be between 0.0 and 1.0, got {weight}"),
            });
        }
        if weight > 0.0 && params.match_length_scale_tokens == 0 {
            return Err(BuildError::Value {
                field: "matchLengthScaleTokens",
                why: "must be above 0 when matchLengthWeight is, got 0".to_owned(),
            });
        }
        Ok(Self {
            matches: cx.require::<PrefixMatch>(&params.prefix_match_info_producer_name),
            length_weight: weight as f32,
            scale_tokens: params.match_length_scale_tokens as f32,
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.scorer(self);
    }
}

// === impl PrefixCacheScorer ===

impl PrefixCacheScorer {
    #[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
    fn value(&self, found: PrefixMatchValue) -> f32 {
        if found.total == 0 {
            return 0.0;
        }
        let share = found.matched as f32 / found.total as f32;
        if self.length_weight == 0.0 {
            return share;
        }
        let tokens = found.matched as f32 * found.block_tokens as f32;
        let length = (tokens / self.scale_tokens).min(1.0).powi(2);
        self.length_weight
            .mul_add(length, (1.0 - self.length_weight) * share)
    }
}

impl Scorer for PrefixCacheScorer {
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]) {
        let matches = view.columns.read(self.matches);
        for (place, score) in candidates.iter().zip(scores) {
            *score = matches
                .get(*place as usize)
                .map_or(0.0, |found| self.value(*found));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::build;

    fn value(params: serde_json::Value, matched: u32, total: u32) -> f32 {
        let params: Params = serde_json::from_value(params).unwrap();
        let scorer = build::<PrefixCacheScorer>(params).unwrap();
        scorer.value(PrefixMatchValue {
            matched,
            total,
            block_tokens: 64,
        })
    }

    #[test]
    fn scores_the_share_that_is_held() {
        let params = serde_json::json!({});
        assert_eq!(value(params.clone(), 3, 4), 0.75);
        assert_eq!(value(params.clone(), 0, 4), 0.0);
        assert_eq!(value(params, 0, 0), 0.0);
    }

    #[test]
    fn the_length_of_the_match_counts_by_its_square() {
        let params = serde_json::json!({"matchLengthWeight": 0.5});
        assert_eq!(value(params.clone(), 64, 128), 0.5 * 0.25 + 0.5 * 0.5);
        assert_eq!(
            value(params, 256, 256),
            1.0,
            "longer than the scale counts in full"
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (params, field) in [
            (
                serde_json::json!({"matchLengthWeight": 1.5}),
                "matchLengthWeight",
            ),
            (
                serde_json::json!({"matchLengthWeight": -0.1}),
                "matchLengthWeight",
            ),
            (
                serde_json::json!({"matchLengthWeight": 0.5, "matchLengthScaleTokens": 0}),
                "matchLengthScaleTokens",
            ),
        ] {
            let params: Params = serde_json::from_value(params).unwrap();
            let error = build::<PrefixCacheScorer>(params).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
    }
}
