//! The next endpoint, while none accepts a connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderValue, StatusCode};
use suimon_picker::{Endpoint, control};
use suimon_routing::table::BackendProtocol;
use suimon_telemetry::Reason;

use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::forward::{Tried, TryLimits, forward};
use crate::upstream::{Answer, Outgoing, RequestHead, Target, Upstream};

/// One endpoint to try.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    pub(crate) address: SocketAddr,
    /// The address as text.
    pub(crate) authority: Arc<str>,
    /// The pool's member, told of itself; `None` for a Service.
    pub(crate) member: Option<Arc<Endpoint>>,
}

/// Endpoints to try, in order. Not an adapter with a closure: futures that hold one are not `Send`.
#[derive(Debug)]
pub(crate) enum Stops<'a> {
    /// Members of a pool.
    Members(std::slice::Iter<'a, Arc<Endpoint>>),
    /// Addresses of a Service, from one of them once around.
    Addresses(std::iter::Chain<std::slice::Iter<'a, SocketAddr>, std::slice::Iter<'a, SocketAddr>>),
}

/// An answer, and whose.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) answer: Answer,
    /// When the try began that led to it.
    pub(crate) tried: Instant,
    pub(crate) address: SocketAddr,
}

/// How to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) protocol: BackendProtocol,
    pub(crate) limits: TryLimits,
    /// Whether 101 is an answer.
    pub(crate) upgrades: bool,
}

/// Tries each of `stops` until one takes the connection. ///
/// # Errors
/// None accepts a connection, or one did and failed.
pub(crate) async fn send(
    plan: Plan<'_>,
    stops: Stops<'_>,
    parts: &mut Parts,
    body: &mut Outgoing,
    exchange: &mut Exchange,
) -> Result<Sent, Failure> {
    let root = PathAndQuery::from_static("/");
    for stop in stops {
        exchange.trying(&stop);
        if stop.member.is_some() {
            let value = HeaderValue::from_str(&stop.authority)
                .map_err(|_| Failure::plain(Reason::Internal))?;
            parts.headers.insert(control::DESTINATION, value);
        }
        let head = RequestHead {
            method: &parts.method,
            path: parts.uri.path_and_query().unwrap_or(&root),
            headers: &parts.headers,
        };
        let target = Target {
            address: stop.address,
            protocol: plan.protocol,
        };
        let tried = Instant::now();
        match forward(plan.upstream, target, plan.limits, &head, body).await {
            Ok(answer) if is_unasked_switch(&answer, plan) => {
                return Err(Failure::plain(Reason::EndpointInvalid));
            }
            Ok(answer) => {
                exchange.answered(&answer);
                return Ok(Sent {
                    answer,
                    tried,
                    address: stop.address,
                });
            }
            Err(Tried::NotConnected(error)) => {
                tracing::debug!(%error, "next endpoint");
                if let Some(member) = &stop.member {
                    member.refused(Instant::now());
                }
            }
            Err(Tried::Failed(failure)) => return Err(failure),
        }
    }
    Err(Failure::plain(Reason::ConnectFailed))
}

/// Nobody asked the endpoint to switch protocols (RFC 9110 §15.2.2).
fn is_unasked_switch(answer: &Answer, plan: Plan<'_>) -> bool {
    !plan.upgrades && answer.response.status() == StatusCode::SWITCHING_PROTOCOLS
}

// === impl Stops ===

impl<'a> Stops<'a> {
    /// All of `addresses`, from the one at `first` on.
    pub(crate) fn around(addresses: &'a [SocketAddr], first: usize) -> Self {
        let (before, from) = addresses.split_at(first.min(addresses.len()));
        Self::Addresses(from.iter().chain(before))
    }
}

impl Iterator for Stops<'_> {
    type Item = Stop;

    fn next(&mut self) -> Option<Stop> {
        match self {
            Self::Members(members) => members.next().map(Stop::from),
            Self::Addresses(addresses) => addresses.next().copied().map(Stop::from),
        }
    }
}

// === impl Stop ===

impl From<&Arc<Endpoint>> for Stop {
    fn from(member: &Arc<Endpoint>) -> Self {
        Self {
            address: member.address(),
            authority: Arc::clone(member.authority()),
            member: Some(Arc::clone(member)),
        }
    }
}

impl From<SocketAddr> for Stop {
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            authority: Arc::from(address.to_string()),
            member: None,
        }
    }
}
