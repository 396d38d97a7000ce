//! What a pick is asked about.

use std::pin::Pin;
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method};
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
    /// Method.
    pub method: &'a Method,
    /// Path without query.
    pub path: &'a str,
    /// Query without the question mark.
    pub query: Option<&'a str>,
    /// Headers of the request, control headers of clients already handled.
    pub headers: &'a HeaderMap,
    /// The body as far as it was read.
    pub body: Body<'a>,
    /// The body's bytes.
    pub bytes: &'a Bytes,
    /// What becomes of a body that is not what the path says.
    pub unreadable: Unreadable,
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
    /// Something else, such as gRPC; of interest only for the APIs that are JSON.
    Invalid(&'a ScanError),
}

/// What becomes of a request whose body is not what its path says: it is no JSON, or a prompt is
/// missing or of another shape.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unreadable {
    /// It is picked for as far as it can be read, so that the model server answers. A body that is
    /// not read at all is an error still where the model in it might have to be rewritten.
    #[default]
    Pass,
    /// It is an error.
    Refuse,
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
