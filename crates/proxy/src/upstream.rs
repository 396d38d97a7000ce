//! Connections to endpoints: pooled, a pool a worker thread.

pub(crate) mod connect;
mod http1;
mod http2;
mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use suimon_routing::table::BackendProtocol;

pub(crate) use connect::ConnectError;
pub(crate) use request::{Outgoing, RequestBody, RequestHead};

/// Idle connections are closed after this time: engines close theirs after 5 to 75 s, load
/// balancers after 60 to 350 s; whoever is first, `http1` copes with the race.
const IDLE: Duration = Duration::from_secs(90);

/// Where one try goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) protocol: BackendProtocol,
}

/// The connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct Upstream {
    http1: Arc<http1::Connections>,
    http2: Arc<http2::Connections>,
}

/// An endpoint's answer with the connection that it comes by.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Incoming>,
    pub(crate) lease: Lease,
}

/// The use of a connection. Call [`Lease::done`] when the response has been read to its end;
/// dropped before, the connection (HTTP/1) or the stream (HTTP/2) ends, and the endpoint with it.
#[derive(Debug)]
pub(crate) enum Lease {
    Http1(http1::Lease),
    Http2(#[expect(dead_code, reason = "counts the stream until it is dropped")] http2::Lease),
}

/// Why a try gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// No connection: the request did not leave.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke before an answer.
    #[error("the endpoint broke the connection before it answered")]
    Reset(#[source] hyper::Error),
    /// The answer is not HTTP.
    #[error("the endpoint's answer is not valid HTTP")]
    Invalid(#[source] hyper::Error),
    /// The client broke off its body, or sent it in a way that cannot be read.
    #[error("the client broke off its body")]
    Body(#[source] hyper::Error),
    /// The head cannot be sent.
    #[error("the request cannot be sent on")]
    Unsendable,
}

// === impl Upstream ===

impl Upstream {
    /// One try at one endpoint.
    ///
    /// # Errors
    /// See [`SendError`]; `body` can be used again after [`SendError::Connect`].
    pub(crate) async fn send(
        &self,
        target: Target,
        connect: Duration,
        head: &RequestHead<'_>,
        body: &mut Outgoing,
    ) -> Result<Answer, SendError> {
        match target.protocol {
            BackendProtocol::Http1 => {
                http1::send(&self.http1, target.address, connect, head, body).await
            }
            BackendProtocol::H2c => {
                http2::send(&self.http2, target.address, connect, head, body).await
            }
        }
    }

    /// Closes connections that were idle for too long. Call about once a second.
    pub(crate) fn sweep(&self) {
        self.http1.sweep(IDLE);
        self.http2.sweep(IDLE);
    }
}

// === impl Lease ===

impl Lease {
    /// The response was read to its end: the connection can serve the next request.
    pub(crate) fn done(self) {
        match self {
            Self::Http1(lease) => lease.done(),
            Self::Http2(_) => {}
        }
    }
}

// === impl SendError ===

impl SendError {
    fn from_hyper(error: hyper::Error) -> Self {
        if error.is_user() {
            Self::Body(error)
        } else if error.is_parse() {
            Self::Invalid(error)
        } else {
            Self::Reset(error)
        }
    }
}
