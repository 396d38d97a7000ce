//! Finds the endpoints of a pool.

use std::sync::Arc;

use crate::endpoint::EndpointSpec;

/// Called with the whole set of endpoints, at the start and on each change.
pub type Found = Arc<dyn Fn(Vec<EndpointSpec>) + Send + Sync>;

/// Finds the endpoints of a pool in place of the pool's own selector.
pub trait Discovery: Send + Sync {
    /// Calls `found` with what is there now, then on each change until the result is dropped.
    ///
    /// # Errors
    /// When nothing can be read at the start; the text says what and why.
    fn start(&self, found: Found) -> Result<Box<dyn Discovering>, String>;
}

/// Discovery that goes on until it is dropped.
pub trait Discovering: Send + Sync {}
