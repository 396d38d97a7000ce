//! What plugins see of one pick.

use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use suimon_llm::InferenceRequest;

use crate::columns::{Columns, States};
use crate::endpoint::Endpoint;
use crate::metrics::Load;

/// The request as plugins see it.
#[derive(Debug)]
pub struct Request<'a> {
    /// Id for logs. Never a key: clients choose it.
    pub id: &'a str,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// The body; the ranges of prompts point into it. Empty where it was not read.
    pub body: &'a [u8],
    /// The parsed body.
    pub inference: &'a InferenceRequest<'a>,
    /// Model that the endpoint will be asked for; empty where the API has none.
    pub model: &'a str,
    /// Priority of the request's objective.
    pub priority: i32,
}

/// A pool at one moment, for filters, scorers and detectors. Places in the slices are endpoint
/// places of the snapshot; candidates are lists of such places.
#[derive(Debug)]
pub struct View<'a> {
    /// The request.
    pub request: &'a Request<'a>,
    /// Every endpoint of the pool.
    pub endpoints: &'a [Arc<Endpoint>],
    /// Load figures, one for each endpoint, taken once for the whole pick.
    pub load: &'a [Load],
    /// Values by producers.
    pub columns: &'a Columns,
    /// Time of the pick.
    pub now: Instant,
}

/// The same for producers, who write columns.
#[derive(Debug)]
pub struct Produce<'a> {
    /// The request.
    pub request: &'a Request<'a>,
    /// Every endpoint of the pool.
    pub endpoints: &'a [Arc<Endpoint>],
    /// Load figures, one for each endpoint.
    pub load: &'a [Load],
    /// Places of the candidates, ascending.
    pub candidates: &'a [u32],
    /// From an endpoint's slot to its place.
    pub places: &'a Places,
    /// Columns to read and write.
    pub columns: &'a mut Columns,
    /// Per-request state.
    pub states: &'a mut States,
}

/// What was scheduled, for pre-request hooks.
#[derive(Debug)]
pub struct Scheduled<'a> {
    /// The request.
    pub request: &'a Request<'a>,
    /// Every endpoint of the pool.
    pub endpoints: &'a [Arc<Endpoint>],
    /// Place of the endpoint that the request goes to.
    pub target: u32,
    /// Values by producers.
    pub columns: &'a Columns,
    /// Per-request state.
    pub states: &'a mut States,
    /// Headers to set on the request.
    pub set_headers: &'a mut HeaderMap,
}

/// From an endpoint's slot to its place in one snapshot.
#[derive(Debug, Clone, Default)]
pub struct Places {
    by_slot: hashbrown::HashMap<u32, u32>,
}

// === impl View ===

impl View<'_> {
    /// Load of the endpoint at `place`; unknown for a place outside the pool.
    #[must_use]
    pub fn load_of(&self, place: u32) -> Load {
        self.load.get(place as usize).copied().unwrap_or_default()
    }

    /// The endpoint at `place`.
    #[must_use]
    pub fn endpoint(&self, place: u32) -> Option<&Arc<Endpoint>> {
        self.endpoints.get(place as usize)
    }
}

// === impl Places ===

impl Places {
    /// Places of `endpoints`.
    #[must_use]
    pub fn of(endpoints: &[Arc<Endpoint>]) -> Self {
        Self {
            by_slot: (0..)
                .zip(endpoints)
                .map(|(place, e)| (e.slot(), place))
                .collect(),
        }
    }

    /// Place of the endpoint with this slot, if it is in the pool.
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<u32> {
        self.by_slot.get(&slot).copied()
    }
}
