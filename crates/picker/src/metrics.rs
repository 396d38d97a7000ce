//! What is known of one model server from its metrics page.

use std::sync::Arc;
use std::time::{Duration, Instant};

/// One scrape's worth of facts. Immutable: a scrape stores a new one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// When the last scrape that found a load figure was answered; `None`: never.
    pub updated: Option<Instant>,
    /// How much later than usual the next scrape may be, because nothing was asked for a while.
    pub grace: Duration,
    /// Engine that the metric names belong to, as in `vllm`.
    pub engine: Option<Arc<str>>,
    /// Requests that wait for a place in the batch, summed over data-parallel ranks.
    pub waiting: u32,
    /// Requests in the batch, summed over data-parallel ranks.
    pub running: u32,
    /// Share of KV-cache blocks in use, 0..=1; the mean over data-parallel ranks.
    pub kv_usage: f32,
    /// Tokens in one KV-cache block; 0: unknown.
    pub block_size: u32,
    /// KV-cache blocks of the engine; 0: unknown.
    pub num_blocks: u32,
    /// LoRA adapters of the engine.
    pub lora: Arc<Lora>,
}

/// LoRA adapters as the newest `lora_requests_info` series tells them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lora {
    /// Adapters that may be active at once; 0: the engine tells none.
    pub max: u32,
    /// Adapters with running requests.
    pub active: Vec<Box<str>>,
    /// Adapters with waiting requests only.
    pub waiting: Vec<Box<str>>,
}

/// The figures that load scorers read, copied once a pick into one dense column.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Scraped within [`STALE_AFTER`]. Otherwise the other figures mean nothing: unknown is not idle.
    pub fresh: bool,
    /// Time since the last good scrape.
    pub age: Duration,
    /// The same, less the time by which scrapes are planned to be rarer than usual.
    pub late: Duration,
    /// Waiting requests, plus those sent since the scrape, which it cannot have counted.
    pub waiting: u32,
    /// Running requests, plus those sent since the scrape.
    pub running: u32,
    /// As scraped, without those sent since: what a saturation detector judges by.
    pub scraped_waiting: u32,
    /// Share of KV-cache blocks in use, 0..=1.
    pub kv_usage: f32,
}

/// Figures older than this are unknown: the peers' `--metrics-staleness-threshold`.
pub const STALE_AFTER: Duration = Duration::from_secs(2);
