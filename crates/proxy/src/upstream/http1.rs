//! HTTP/1.1 connections: last in, first out, one request at a time.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::client::conn::http1::{Builder, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;

use super::connect::{self, ConnectError, Heard, Tap};
use super::{Answer, Outgoing, RequestBody, RequestHead, SendError};

/// Idle connections that are kept for an endpoint, a worker.
const MOST_IDLE: usize = 256;

/// An endpoint that breaks a connection which it let idle does so within a round trip. Later, it
/// has most likely begun with the request, which must not be done twice.
const STALE_WITHIN: Duration = Duration::from_millis(100);

/// Connections are ready again as soon as their task runs; one that is not by then still has a
/// request to write out.
const READY_WITHIN: Duration = Duration::from_millis(20);

/// Idle connections of one worker. Its one thread is the only user: the lock is never waited for.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    idle: Mutex<HashMap<SocketAddr, Vec<Idle>>>,
}

#[derive(Debug)]
struct Idle {
    connection: Connection,
    since: Instant,
}

#[derive(Debug)]
struct Connection {
    sender: SendRequest<RequestBody>,
    heard: Heard,
}

/// The use of one connection.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Connection,
    address: SocketAddr,
    home: Arc<Connections>,
}

/// Sends to `address`. A kept connection that turns out to be stale is replaced by a fresh one,
/// once, if nothing was received by it.
///
/// # Errors
/// See [`SendError`].
pub(super) async fn send(
    connections: &Arc<Connections>,
    address: SocketAddr,
    timeout: Duration,
    head: &RequestHead<'_>,
    body: &mut Outgoing,
) -> Result<Answer, SendError> {
    if let Some(mut connection) = connections.take(address).await {
        let sent = Instant::now();
        let (error, unsent) = match attempt(&mut connection, head, body).await {
            Ok(response) => return Ok(answer(response, connection, address, connections)),
            Err(failed) => failed,
        };
        let stale =
            unsent || (body.is_kept() && !connection.heard.any() && sent.elapsed() < STALE_WITHIN);
        if !stale {
            return Err(error);
        }
        tracing::debug!(%address, %error, "kept connection was stale");
    }
    let mut connection = open(address, timeout).await?;
    match attempt(&mut connection, head, body).await {
        Ok(response) => Ok(answer(response, connection, address, connections)),
        Err((error, _)) => Err(error),
    }
}

type Response = http::Response<hyper::body::Incoming>;

/// One request on one connection. The error tells whether nothing was sent.
async fn attempt(
    connection: &mut Connection,
    head: &RequestHead<'_>,
    body: &mut Outgoing,
) -> Result<Response, (SendError, bool)> {
    let Some(taken) = body.take() else {
        return Err((SendError::Unsendable, false));
    };
    connection.heard.reset();
    match connection.sender.try_send_request(head.http1(taken)).await {
        Ok(response) => Ok(response),
        Err(mut failed) => {
            let message = failed.take_message();
            let unsent = message.is_some();
            if let Some(request) = message {
                body.restore(request.into_body());
            }
            Err((SendError::from_hyper(failed.into_error()), unsent))
        }
    }
}

fn answer(
    response: Response,
    connection: Connection,
    address: SocketAddr,
    connections: &Arc<Connections>,
) -> Answer {
    Answer {
        response,
        lease: super::Lease::Http1(Lease {
            connection,
            address,
            home: Arc::clone(connections),
        }),
    }
}

async fn open(address: SocketAddr, timeout: Duration) -> Result<Connection, ConnectError> {
    let (stream, heard) = Tap::new(connect::connect(address, timeout).await?);
    let (sender, driver) = Builder::new()
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|source| ConnectError::Handshake { address, source })?;
    // The task only moves bytes: dropping the sender or a response ends the connection.
    tokio::spawn(async move {
        if let Err(error) = driver.with_upgrades().await {
            tracing::debug!(%address, %error, "endpoint connection");
        }
    });
    Ok(Connection { sender, heard })
}

// === impl Connections ===

impl Connections {
    async fn take(&self, address: SocketAddr) -> Option<Connection> {
        loop {
            let mut connection = self.pop(address)?;
            if !connection.sender.is_closed() && is_ready(&mut connection.sender).await {
                return Some(connection);
            }
        }
    }

    fn pop(&self, address: SocketAddr) -> Option<Connection> {
        let mut idle = self.idle.lock();
        Some(idle.get_mut(&address)?.pop()?.connection)
    }

    fn put(&self, address: SocketAddr, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut idle = self.idle.lock();
        let stack = idle.entry(address).or_default();
        if stack.len() < MOST_IDLE {
            stack.push(Idle {
                connection,
                since: Instant::now(),
            });
        }
    }

    /// Closes what was idle for `limit`, and forgets what the endpoint has closed.
    pub(super) fn sweep(&self, limit: Duration) {
        let now = Instant::now();
        self.idle.lock().retain(|_, stack| {
            stack.retain(|idle| {
                !idle.connection.sender.is_closed()
                    && now.saturating_duration_since(idle.since) < limit
            });
            !stack.is_empty()
        });
    }
}

async fn is_ready(sender: &mut SendRequest<RequestBody>) -> bool {
    let now = std::future::poll_fn(|cx| Poll::Ready(sender.poll_ready(cx))).await;
    match now {
        Poll::Ready(ready) => ready.is_ok(),
        Poll::Pending => matches!(
            tokio::time::timeout(READY_WITHIN, sender.ready()).await,
            Ok(Ok(()))
        ),
    }
}

// === impl Lease ===

impl Lease {
    /// The connection can serve the next request.
    pub(super) fn done(self) {
        self.home.put(self.address, self.connection);
    }
}
