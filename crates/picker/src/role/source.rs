//! Polls endpoints for facts.

use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::role::extractor::Extractor;

/// Polls the endpoints of a pool and hands what they answer to extractors.
pub trait Source: Send + Sync {
    /// Starts to poll `endpoints`. An endpoint's polling ends when it leaves the pool or when the
    /// result is dropped.
    fn watch(
        &self,
        endpoints: &[Arc<Endpoint>],
        extractors: &[Arc<dyn Extractor>],
    ) -> Box<dyn Watching>;
}

/// Something that runs until it is dropped.
pub trait Watching: Send + Sync {}
