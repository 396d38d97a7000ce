//! Attributes that several plugins share.

use crate::columns::Attribute;

/// Requests of ours in flight at an endpoint.
#[derive(Debug)]
pub enum InFlightLoad {}

/// Value of [`InFlightLoad`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InFlightLoadValue {
    /// Uncached prompt tokens of those requests.
    pub tokens: u64,
    /// Number of those requests.
    pub requests: u32,
}

/// Prompt tokens that an endpoint would have to compute for this request.
#[derive(Debug)]
pub enum UncachedTokens {}

impl Attribute for InFlightLoad {
    type Value = InFlightLoadValue;
    const NAME: &'static str = "InFlightLoad";
    const DEFAULT_PRODUCER: &'static str = "inflight-load-producer";
}

impl Attribute for UncachedTokens {
    type Value = u64;
    const NAME: &'static str = "UncachedRequestTokens";
    const DEFAULT_PRODUCER: &'static str = "inflight-load-producer";
}

/// How much of the prompt an endpoint holds in its KV cache.
#[derive(Debug)]
pub enum PrefixMatch {}

/// Value of [`PrefixMatch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixMatchValue {
    /// Leading blocks of the prompt that the endpoint holds.
    pub matched: u32,
    /// Blocks of the prompt; 0: nobody said.
    pub total: u32,
    /// Tokens in one block.
    pub block_tokens: u32,
}

impl Attribute for PrefixMatch {
    type Value = PrefixMatchValue;
    const NAME: &'static str = "PrefixCacheMatchInfo";
    const DEFAULT_PRODUCER: &'static str = "approx-prefix-cache-producer";
}
