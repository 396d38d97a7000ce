//! A foreign picker that follows the response of a request that it picked for.

use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, response};

/// An answer that a foreign picker gives to the client itself, in place of any endpoint's.
#[derive(Debug, Clone, Default)]
pub struct DirectAnswer {
    /// Status of the answer.
    pub status: StatusCode,
    /// Headers to set on it.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Why a response cannot be followed further.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The picker answers in the endpoint's place.
    #[error("the endpoint picker answered in the endpoint's place")]
    Answered(Box<DirectAnswer>),
    /// The picker failed; see the source.
    #[error("the endpoint picker failed while it followed the response")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A part of a response's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of it.
    Data(Bytes),
    /// What ends it, if it has any.
    Trailers(HeaderMap),
}

/// A head that is being shown to the picker.
pub type Showing<'a> = Pin<Box<dyn Future<Output = Result<(), FollowError>> + Send + 'a>>;

/// Sees the response to a request, and may change it on its way.
///
/// First the head is shown, then pieces are pushed, and others come out. Dropping it tells the picker
/// that the exchange broke off.
pub trait Follow: Send + std::fmt::Debug {
    /// Shows the head of the response that `served` gave; the picker's changes are applied to it.
    /// With `end` no body follows.
    ///
    /// # Errors
    /// See [`FollowError`]. After [`FollowError::Failed`] the head is as it was.
    fn head<'a>(
        &'a mut self,
        served: SocketAddr,
        head: &'a mut response::Parts,
        end: bool,
    ) -> Showing<'a>;

    /// Whether another piece may be pushed now: what waits to come out is bounded.
    fn has_room(&self) -> bool;

    /// Takes the next piece of the endpoint's body; `None`: it has ended.
    fn push(&mut self, piece: Option<Piece>);

    /// The next piece to send on; `None`: nothing more comes.
    ///
    /// # Errors
    /// See [`FollowError`]; see also [`Follow::rest`].
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, FollowError>>>;

    /// After a failure: what was pushed and has not come out. `None` if the picker has changed the
    /// body, so that nobody can tell where it would have to go on.
    fn rest(&mut self) -> Option<Vec<Piece>>;
}
