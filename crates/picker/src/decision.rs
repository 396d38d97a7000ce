//! What a pick decided, and the guard that keeps the in-flight ledger true.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use smallvec::SmallVec;
use suimon_llm::ApiKind;

use crate::endpoint::{Endpoint, Ticket};
use crate::follow::Follow;
use crate::record::Record;

/// Where a request goes.
#[derive(Debug)]
pub struct Decision {
    /// Best first, never empty. The rest is tried in order when a connection cannot be made.
    pub endpoints: SmallVec<[Arc<Endpoint>; 4]>,
    /// How many of `endpoints` the picker chose itself; those behind are further fallbacks.
    pub chosen: usize,
    /// The API that the request speaks, which tells how to read the response.
    pub api: ApiKind,
    /// Names of the model on both sides.
    pub model: ModelNames,
    /// Priority of the request's objective; 0 without one.
    pub priority: i32,
    /// Headers to set on the request, for example those that plugins add.
    pub set_headers: HeaderMap,
    /// Headers to remove from the request, before others are set.
    pub remove_headers: Vec<HeaderName>,
    /// The body to send in place of the client's; `None`: that one, with the model's name replaced
    /// where [`ModelNames`] says so.
    pub body: Option<Bytes>,
    /// Follows the response, where a foreign picker does.
    pub follow: Option<Box<dyn Follow>>,
    /// Keeps the endpoint's ledger; released on drop.
    pub in_flight: InFlight,
    /// What the admin API shows of this decision.
    pub record: Option<Arc<Record>>,
}

/// Names of the model on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelNames {
    /// As the client wrote it; empty where the API has none.
    pub incoming: Arc<str>,
    /// As the endpoint is to see it. Equal to `incoming` without a rewrite.
    pub target: Arc<str>,
    /// Bytes of the body's `model` value, quotes included, that `target` replaces. `None` without
    /// a rewrite. An empty range is where a missing field is to be inserted.
    pub replace: Option<Range<usize>>,
}

/// One request's share of an endpoint's in-flight ledger.
///
/// Dropping it, however the request ended, gives the share back to the very counter it was taken
/// from, also when the endpoint has left the pool since.
#[derive(Debug)]
pub struct InFlight {
    held: Option<(Arc<Endpoint>, Ticket)>,
    tokens: u64,
}

// === impl Decision ===

impl Decision {
    /// The endpoint to try first.
    #[must_use]
    pub fn first(&self) -> Option<&Arc<Endpoint>> {
        self.endpoints.first()
    }
}

// === impl InFlight ===

impl InFlight {
    /// Counts a request of `tokens` uncached prompt tokens at `endpoint`.
    #[must_use]
    pub fn new(endpoint: &Arc<Endpoint>, tokens: u64) -> Self {
        let ticket = endpoint.take(tokens);
        Self {
            held: Some((Arc::clone(endpoint), ticket)),
            tokens,
        }
    }

    /// A request that no ledger counts: its endpoint is not ours to watch.
    #[must_use]
    pub const fn untracked() -> Self {
        Self {
            held: None,
            tokens: 0,
        }
    }

    /// The request goes to another endpoint instead.
    pub fn move_to(&mut self, endpoint: &Arc<Endpoint>) {
        let tokens = self.tokens;
        *self = Self::new(endpoint, tokens);
    }

    /// The endpoint that is counted.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.held.as_ref().map(|(endpoint, _)| endpoint)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some((endpoint, ticket)) = self.held.take() {
            endpoint.release(ticket);
        }
    }
}
