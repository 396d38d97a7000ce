//! Polls endpoints for facts.

use std::sync::Arc;

use crate::endpoint::Endpoint;
use crate::role::extractor::Extractor;

/// Polls the endpoints of a pool and hands what they answer to extractors.
pub trait Source: Send + Sync {
    /// Starts to poll `endpoints`.
    fn watch(
        &self,
        endpoints: &[Arc<Endpoint>],
        extractors: &[Arc<dyn Extractor>],
    ) -> Box<dyn Watching>;
}

/// Polling that goes on until it is dropped. An endpoint's ends when it leaves the pool.
pub trait Watching: Send + Sync {
    /// Polls `endpoints` too.
    fn add(&self, endpoints: &[Arc<Endpoint>]);

    /// Endpoints that have neither answered nor been given up.
    fn pending(&self) -> usize;
}
