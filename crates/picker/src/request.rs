//! What a pick is asked about.

use std::pin::Pin;
use std::time::Instant;

use http::HeaderMap;
use suimon_llm::{Fields, ScanError};

use crate::decision::Decision;
use crate::error::PickError;
use crate::subset::Subset;

/// One request, borrowed from whoever holds it.
#[derive(Debug, Clone, Copy)]
pub struct PickRequest<'a> {
    /// Id for logs and the decision record. Never a key: clients choose it.
    pub id: &'a str,
    /// Name of the route that led here, as `namespace/name`.
    pub route: &'a str,
    /// Path without query.
    pub path: &'a str,
    /// Headers of the request, control headers of clients already handled.
    pub headers: &'a HeaderMap,
    /// The body.
    pub body: Body<'a>,
    /// When the request's head was complete.
    pub received: Instant,
    /// Endpoints that may be picked; `None`: all of the pool.
    pub subset: Option<&'a Subset>,
}

/// A request's body as far as the front door read it.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// There is none.
    Absent,
    /// A JSON object.
    Fields(&'a Fields),
    /// Something else: an error only for the APIs that are JSON.
    Invalid(&'a ScanError),
}

/// A pick that may have to wait, for a queue or for a foreign picker.
pub type Picking<'a> = Pin<Box<dyn Future<Output = Result<Decision, PickError>> + Send + 'a>>;

/// Whoever picks for a pool: [`crate::PoolPicker`] inside this process, or a foreign picker.
pub trait EndpointPicker: Send + Sync + std::fmt::Debug {
    /// Decides where `request` goes.
    ///
    /// # Errors
    /// [`PickError`] tells whether the request, the pool or the picker is at fault.
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a>;
}
