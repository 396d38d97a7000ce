//! `inflight-load-producer`: says what is in flight at each endpoint.
//!
//! # What it does
//! Tells other plugins how many requests of ours an endpoint is working on, and how many prompt
//! tokens it would have to compute for this request. The counts are kept by the engine: taken at the
//! moment of the decision, given back when the request ends, whatever way.
//!
//! # Reads
//! The in-flight ledger; `PrefixCacheMatchInfo`, where some plugin produces it.
//!
//! # Scores
//! Nothing; writes `InFlightLoad` and `UncachedRequestTokens`.
//!
//! # Parameters
//! `prefixMatchInfoProducerName`, `addEstimatedOutputTokens`, `outputRatio`,
//! `maxEstimatedOutputTokens`, `syncCrossReplicaState`.
//!
//! # Example
//! ```yaml
//! type: inflight-load-producer
//! parameters:
//!   addEstimatedOutputTokens: true
//! ```

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suimon_picker::attribute::{
    InFlightLoad, InFlightLoadValue, PrefixMatch, PrefixMatchValue, UncachedTokens,
};
use suimon_picker::role::Producer;
use suimon_picker::{BuildContext, BuildError, Key, Plugin, Produce, Request, Roles, Stability};

/// Parameters of `inflight-load-producer`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Instance that says what is held of the prompt; empty: `approx-prefix-cache-producer`.
    pub prefix_match_info_producer_name: String,
    /// Whether the tokens to be generated count too.
    pub add_estimated_output_tokens: bool,
    /// Tokens to be generated for each of the prompt; 0 or above.
    pub output_ratio: f64,
    /// Most tokens to be generated that count; absent: no bound but the request's own.
    pub max_estimated_output_tokens: Option<u64>,
    /// Whether replicas of the gateway share their counts. Without a syncer they do not.
    pub sync_cross_replica_state: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            prefix_match_info_producer_name: String::new(),
            add_estimated_output_tokens: false,
            output_ratio: 1.5,
            max_estimated_output_tokens: None,
            sync_cross_replica_state: true,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct InFlightLoadProducer {
    output_ratio: Option<f64>,
    max_output: Option<u64>,
    load: Key<InFlightLoad>,
    uncached: Key<UncachedTokens>,
    prefix: Key<PrefixMatch>,
}

impl Plugin for InFlightLoadProducer {
    const TYPE: &'static str = "inflight-load-producer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "says what is in flight at each endpoint";
    type Params = Params;

    fn build(params: Params, cx: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        if !params.output_ratio.is_finite() || params.output_ratio < 0.0 {
            return Err(BuildError::Value {
                field: "outputRatio",
                why: format!("must be 0 or above, got {}", params.output_ratio),
            });
        }
        Ok(Self {
            output_ratio: params
                .add_estimated_output_tokens
                .then_some(params.output_ratio),
            max_output: params.max_estimated_output_tokens,
            load: cx.produce::<InFlightLoad>(),
            uncached: cx.produce::<UncachedTokens>(),
            prefix: cx.optional::<PrefixMatch>(&params.prefix_match_info_producer_name),
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.producer(self);
    }
}

// === impl InFlightLoadProducer ===

impl InFlightLoadProducer {
    /// Tokens that the request will probably generate, as far as they are to count.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate above 0"
    )]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn output(&self, request: &Request<'_>, input: u64) -> u64 {
        let Some(ratio) = self.output_ratio else {
            return 0;
        };
        let estimate = (input as f64 * ratio).round() as u64;
        let asked = request.inference.max_tokens.unwrap_or(u64::MAX);
        estimate.min(asked).min(self.max_output.unwrap_or(u64::MAX))
    }
}

/// Prompt tokens that are not held: of the blocks that were matched and of what lies beyond them.
fn uncached(input: u64, found: PrefixMatchValue) -> u64 {
    let tokens = |blocks: u32| u64::from(blocks) * u64::from(found.block_tokens);
    let (indexed, held) = (tokens(found.total), tokens(found.matched));
    // The last block may be partly filled: what is indexed is never more than there is.
    let indexed = indexed.min(input);
    indexed.saturating_sub(held) + input.saturating_sub(indexed)
}

impl Producer for InFlightLoadProducer {
    fn produce(&self, pick: &mut Produce<'_>) {
        let input = pick.request.inference.prompts.token_estimate();
        let output = self.output(pick.request, input);
        for &place in pick.candidates {
            let place = place as usize;
            let Some(endpoint) = pick.endpoints.get(place) else {
                continue;
            };
            if let Some(value) = pick.columns.write(self.load).get_mut(place) {
                *value = InFlightLoadValue {
                    tokens: endpoint.in_flight_tokens(),
                    requests: endpoint.in_flight_requests(),
                };
            }
            let found = pick
                .columns
                .read(self.prefix)
                .get(place)
                .copied()
                .unwrap_or_default();
            if let Some(value) = pick.columns.write(self.uncached).get_mut(place) {
                *value = uncached(input, found) + output;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_not_computed_again() {
        let found = |matched, total| PrefixMatchValue {
            matched,
            total,
            block_tokens: 64,
        };
        assert_eq!(
            uncached(1000, PrefixMatchValue::default()),
            1000,
            "nobody said"
        );
        assert_eq!(uncached(640, found(0, 10)), 640);
        assert_eq!(uncached(640, found(4, 10)), 640 - 256);
        assert_eq!(uncached(650, found(10, 10)), 10, "beyond what was indexed");
        assert_eq!(
            uncached(630, found(10, 10)),
            0,
            "the last block is partly filled"
        );
    }
}
