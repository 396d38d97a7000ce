//! Reads facts out of what a source fetched.

use std::time::Instant;

use crate::endpoint::Endpoint;
use crate::metrics::Metrics;

/// Reads a model server's page.
pub trait Extractor: Send + Sync {
    /// What `page`, answered at `now`, tells on top of `previous`. Only a load figure moves
    /// `updated`, so that staleness shows.
    fn extract(
        &self,
        page: &[u8],
        endpoint: &Endpoint,
        previous: &Metrics,
        now: Instant,
    ) -> Extract;

    /// Metric families that are read of pages of `engine`; empty: unknown, so the whole page is
    /// needed.
    fn families(&self, engine: &str) -> Vec<&str>;
}

/// What one page told.
#[derive(Debug, Clone, PartialEq)]
pub struct Extract {
    /// The previous metrics with what the page told in place of the old figures.
    pub metrics: Metrics,
    /// Which figures were on the page.
    pub found: Found,
}

/// Which figures were on a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Waiting requests.
    pub waiting: bool,
    /// Running requests.
    pub running: bool,
    /// Cache usage.
    pub kv_usage: bool,
    /// Block size or number of blocks.
    pub cache: bool,
    /// LoRA adapters.
    pub lora: bool,
}

// === impl Found ===

impl Found {
    /// Whether the page told the load.
    #[must_use]
    pub fn load(self) -> bool {
        self.waiting || self.running
    }

    /// Whether this has all that `other` has, LoRA apart: its series come with the first adapter.
    #[must_use]
    pub fn covers(self, other: Self) -> bool {
        (self.waiting || !other.waiting)
            && (self.running || !other.running)
            && (self.kv_usage || !other.kv_usage)
            && (self.cache || !other.cache)
    }
}
