//! `approx-prefix-cache-producer`: says which endpoints probably hold the start of the prompt.
//!
//! # What it does
//! Remembers which prompts went where, and says for a new one how much of it each endpoint has
//! probably still in its KV cache. It needs neither a tokenizer nor events of the engine: four bytes
//! of the prompt stand for a token.
//!
//! # Reads
//! The prompt; block size and block count of the engine, as scraped.
//!
//! # Scores
//! Nothing; writes `PrefixCacheMatchInfo`. Blocks count as held only without a gap from the start.
//! Prompts share a prefix only for the same model and the same `cache_salt`; several prompts of one
//! request are counted apart and added up.
//!
//! # Parameters
//! `autoTune`, `blockSizeTokens`, `maxPrefixTokensToMatch`, `maxPrefixBlocksToMatch`,
//! `lruCapacityPerServer`, `blockSize`.
//!
//! # Example
//! ```yaml
//! type: approx-prefix-cache-producer
//! parameters:
//!   blockSizeTokens: 64
//!   lruCapacityPerServer: 31250
//! ```

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suimon_kvindex::{ApproxIndex, BlockHash, Chain, Hasher, units_of};
use suimon_llm::Prompt;
use suimon_picker::attribute::{PrefixMatch, PrefixMatchValue};
use suimon_picker::role::{PreRequest, Producer};
use suimon_picker::{
    BuildContext, BuildError, Endpoint, Key, Plugin, Produce, Request, Roles, Scheduled, Stability,
    StateKey,
};

/// Smallest block, in tokens: smaller ones cost memory and tell nothing more.
const MIN_BLOCK_TOKENS: u32 = 64;

/// Parameters of `approx-prefix-cache-producer`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Whether to take block size and capacity from the engine's metrics where they are known.
    pub auto_tune: bool,
    /// Tokens in one block; above 0. Less than 64 counts as 64.
    pub block_size_tokens: i64,
    /// Tokens of a prompt that are matched, 0 or above; 0: `maxPrefixBlocksToMatch` holds.
    pub max_prefix_tokens_to_match: i64,
    /// Blocks of a prompt that are matched, 0 or above; 0: the whole prompt. Deprecated.
    pub max_prefix_blocks_to_match: i64,
    /// Blocks of `blockSizeTokens` that an endpoint's cache holds; above 0.
    pub lru_capacity_per_server: i64,
    /// Former name of `blockSizeTokens`, used while that has its default; 0: unset. Deprecated.
    pub block_size: i64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            auto_tune: true,
            block_size_tokens: 16,
            max_prefix_tokens_to_match: 131_072,
            max_prefix_blocks_to_match: 2048,
            lru_capacity_per_server: 31_250,
            block_size: 0,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct ApproxPrefixCacheProducer {
    auto_tune: bool,
    /// Tokens in one block as configured.
    block_tokens: u32,
    max_tokens: Option<usize>,
    max_blocks: Option<usize>,
    /// Blocks of `block_tokens` that an endpoint holds.
    capacity: usize,
    secret: u64,
    index: RwLock<ApproxIndex>,
    /// Endpoints that the index has blocks of, to be forgotten once they are gone.
    known: Mutex<Vec<Arc<Endpoint>>>,
    matches: Key<PrefixMatch>,
    state: StateKey<Hashes>,
}

/// Hashes of the request's prompts, kept until it is known where they go.
#[derive(Debug, Default)]
struct Hashes {
    hashes: Vec<BlockHash>,
    /// Where each prompt ends in `hashes`.
    ends: Vec<usize>,
    block_tokens: u32,
}

impl Plugin for ApproxPrefixCacheProducer {
    const TYPE: &'static str = "approx-prefix-cache-producer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "says which endpoints probably hold the start of the prompt";
    type Params = Params;

    #[expect(
        clippy::disallowed_methods,
        reason = "a secret, so that nobody can make prompts that collide; no decision follows its value"
    )]
    fn build(params: Params, cx: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        let limits = params.check()?;
        Ok(Self {
            auto_tune: params.auto_tune,
            block_tokens: limits.block_tokens,
            max_tokens: limits.max_tokens,
            max_blocks: limits.max_blocks,
            capacity: limits.capacity,
            secret: rand::random(),
            index: RwLock::default(),
            known: Mutex::default(),
            matches: cx.produce::<PrefixMatch>(),
            state: cx.state::<Hashes>(),
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.producer(Arc::clone(&self)).pre_request(self);
    }
}

// === impl Params ===

struct Limits {
    block_tokens: u32,
    max_tokens: Option<usize>,
    max_blocks: Option<usize>,
    capacity: usize,
}

impl Params {
    fn check(&self) -> Result<Limits, BuildError> {
        let default = Self::default().block_size_tokens;
        let block = match self.block_size {
            0 => self.block_size_tokens,
            former if self.block_size_tokens == default => former,
            _ => self.block_size_tokens,
        };
        let above_zero = |field, value: i64| {
            let number = u32::try_from(value).ok().filter(|&number| number > 0);
            number.ok_or_else(|| BuildError::Value {
                field,
                why: format!("must be above 0 and at most {}, got {value}", u32::MAX),
            })
        };
        let limit = |field, value: i64| match usize::try_from(value) {
            Ok(0) => Ok(None),
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(BuildError::Value {
                field,
                why: format!("must not be below 0, got {value}"),
            }),
        };
        let max_tokens = limit("maxPrefixTokensToMatch", self.max_prefix_tokens_to_match)?;
        let max_blocks = limit("maxPrefixBlocksToMatch", self.max_prefix_blocks_to_match)?;
        Ok(Limits {
            block_tokens: above_zero("blockSizeTokens", block)?,
            max_tokens,
            max_blocks: max_blocks.filter(|_| max_tokens.is_none()),
            capacity: above_zero("lruCapacityPerServer", self.lru_capacity_per_server)? as usize,
        })
    }
}

// === impl ApproxPrefixCacheProducer ===

impl ApproxPrefixCacheProducer {
    /// Tokens in one block for this request: the first candidate's, where it tells.
    fn block_tokens(&self, pick: &Produce<'_>) -> u32 {
        let first = pick
            .candidates
            .first()
            .and_then(|&place| pick.endpoints.get(place as usize));
        let told = first
            .filter(|_| self.auto_tune)
            .map(|endpoint| endpoint.metrics().block_size);
        told.filter(|&tokens| tokens > 0)
            .unwrap_or(self.block_tokens)
            .max(MIN_BLOCK_TOKENS)
    }

    /// Blocks of `block_tokens` that `endpoint` holds. The engine's count is in its own blocks, and
    /// so is the configured one: both are turned into blocks of the size that is hashed.
    fn capacity(&self, endpoint: &Endpoint, block_tokens: u32) -> usize {
        let metrics = endpoint.metrics();
        let (blocks, tokens) = match (metrics.num_blocks, metrics.block_size) {
            (blocks, tokens) if self.auto_tune && blocks > 0 && tokens > 0 => {
                (blocks as usize, tokens)
            }
            _ => (self.capacity, self.block_tokens),
        };
        (blocks.saturating_mul(tokens as usize) / block_tokens as usize).max(1)
    }

    fn hash(&self, request: &Request<'_>, state: &mut Hashes) {
        let block_tokens = state.block_tokens as usize;
        let max_blocks = match (self.max_tokens, self.max_blocks) {
            (Some(tokens), _) => (tokens / block_tokens).max(1),
            (None, Some(blocks)) => blocks,
            (None, None) => usize::MAX,
        };
        let hasher = Hasher::new(block_tokens, max_blocks);
        let salt = request.inference.cache_salt.as_deref().unwrap_or_default();
        let chain = Chain::start(request.model, salt, self.secret);
        for prompt in &request.inference.prompts {
            match prompt {
                Prompt::Text(ranges) => {
                    let piece = |range: &std::ops::Range<usize>| request.body.get(range.clone());
                    hasher.text(chain, ranges.iter().filter_map(piece), &mut state.hashes);
                }
                Prompt::Tokens(ids) => hasher.tokens(chain, ids, &mut state.hashes),
            }
            state.ends.push(state.hashes.len());
        }
    }

    /// Forgets endpoints that have left the pool, and notes a new one.
    fn note_endpoint(&self, endpoint: &Arc<Endpoint>) {
        if self.index.read().knows(endpoint.slot()) {
            return;
        }
        let mut known = self.known.lock();
        known.retain(|other| {
            if other.is_gone() {
                self.index.write().remove(other.slot());
            }
            !other.is_gone()
        });
        known.push(Arc::clone(endpoint));
    }
}

// === impl Hashes ===

impl Hashes {
    /// Units of all prompts together.
    fn units(&self) -> u32 {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| units(end - start))
            .sum()
    }
}

/// Units of the first `blocks` blocks of a prompt: later blocks are longer than the first.
fn units(blocks: usize) -> u32 {
    u32::try_from(units_of(blocks)).unwrap_or(u32::MAX)
}

impl Producer for ApproxPrefixCacheProducer {
    fn produce(&self, pick: &mut Produce<'_>) {
        let block_tokens = self.block_tokens(pick);
        let Some(state) = pick.states.get(&self.state) else {
            return;
        };
        state.hashes.clear();
        state.ends.clear();
        state.block_tokens = block_tokens;
        self.hash(pick.request, state);
        let column = pick.columns.write(self.matches);
        let total = state.units();
        for &place in pick.candidates {
            if let Some(value) = column.get_mut(place as usize) {
                *value = PrefixMatchValue {
                    matched: 0,
                    total,
                    block_tokens,
                };
            }
        }
        let index = self.index.read();
        let mut start = 0;
        for &end in &state.ends {
            let prompt = state.hashes.get(start..end).unwrap_or_default();
            index.matches(prompt, |slot, blocks| {
                let place = pick.places.get(slot).map(|place| place as usize);
                if let Some(value) = place.and_then(|place| column.get_mut(place)) {
                    value.matched += units(blocks as usize);
                }
            });
            start = end;
        }
    }
}

impl PreRequest for ApproxPrefixCacheProducer {
    fn pre_request(&self, scheduled: &mut Scheduled<'_>) {
        let Some(endpoint) = scheduled.endpoints.get(scheduled.target as usize) else {
            return;
        };
        let Some(state) = scheduled.states.get(&self.state) else {
            return;
        };
        if state.hashes.is_empty() || endpoint.is_gone() {
            return;
        }
        self.note_endpoint(endpoint);
        let capacity = self.capacity(endpoint, state.block_tokens);
        let mut index = self.index.write();
        let mut start = 0;
        for &end in &state.ends {
            let prompt = state.hashes.get(start..end).unwrap_or_default();
            index.insert(endpoint.slot(), prompt, capacity);
            start = end;
        }
        let held = index.held(endpoint.slot());
        drop(index);
        endpoint.set_prefix_blocks(held);
    }
}

#[cfg(test)]
mod tests;
