//! Where a request goes: an endpoint that the pool's picker chose, or one of a Service.

mod pool;
mod service;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use suimon_llm::ApiKind;
use suimon_picker::Follow;
use suimon_routing::table::{Backend, Rule};
use suimon_telemetry::Reason;

use crate::body::Inbound;
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::forward::TryLimits;
use crate::snapshot::Snapshot;
use crate::upgrade::Upgrade;
use crate::upstream::Answer;
use crate::worker::Worker;
use suimon_llm::Restore;

pub(crate) use service::{Visit, Visits};

/// A request that is ready to leave.
#[derive(Debug)]
pub(crate) struct Departure<'a> {
    pub(crate) worker: &'a Arc<Worker>,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) rule: &'a Rule,
    pub(crate) parts: Parts,
    pub(crate) body: Inbound,
    pub(crate) exchange: &'a mut Exchange,
    pub(crate) upgrade: Option<Upgrade>,
}

/// An answer, and how to read it.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) answer: Answer,
    /// When the try began.
    pub(crate) tried: Instant,
    pub(crate) api: ApiKind,
    /// The client's model name is to be put back.
    pub(crate) restore: Option<Restore>,
    /// A foreign picker follows the answer.
    pub(crate) following: Option<Following>,
    /// The endpoint has agreed to it.
    pub(crate) upgrade: Option<Upgrade>,
}

/// A foreign picker that follows an answer.
#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) follow: Box<dyn Follow>,
    /// Who gave the answer.
    pub(crate) served: SocketAddr,
    /// Whether the answer goes on if the picker fails.
    pub(crate) fail_open: bool,
}

/// Sends the request to `backend`.
///
/// # Errors
/// No endpoint, or none that answers.
pub(crate) async fn send(backend: &Backend, departure: Departure<'_>) -> Result<Served, Failure> {
    match backend {
        Backend::Pool(index) => match departure.snapshot.pools.get(*index) {
            Some(pool) => pool::send(pool, departure).await,
            None => Err(Failure::plain(Reason::Internal)),
        },
        Backend::Service(service) => service::send(service, departure).await,
        Backend::Invalid { why } => {
            tracing::debug!(%why, "backend");
            Err(Failure::plain(Reason::BackendInvalid))
        }
    }
}

// === impl Departure ===

impl Departure<'_> {
    fn try_limits(&self) -> TryLimits {
        TryLimits {
            connect: self.snapshot.limits.connect,
            answer: self.rule.timeouts.backend_request,
        }
    }
}
