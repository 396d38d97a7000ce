//! Reads facts out of what a source fetched.

use std::time::Instant;

use crate::endpoint::EndpointSpec;
use crate::metrics::Metrics;

/// Reads a model server's page.
pub trait Extractor: Send + Sync {
    /// What `page` tells, on top of `previous`. `updated` moves to `now` only if a load figure was
    /// found, so that staleness shows.
    fn extract(
        &self,
        page: &[u8],
        endpoint: &EndpointSpec,
        previous: &Metrics,
        now: Instant,
    ) -> Metrics;
}
