//! HTTP/2 connections in clear text: several an endpoint, each with a bounded number of streams.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::net::TcpStream;

use super::connect::{self, ConnectError};
use super::{Answer, Outgoing, RequestBody, RequestHead, SendError};

/// Streams on one connection, whatever the endpoint would allow: they share one TCP window and one
/// task, and a lost connection fails all of them.
const MOST_STREAMS: usize = 100;

/// An endpoint that is connected but silent is found out by a ping.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_ANSWER: Duration = Duration::from_secs(10);

/// Tries on other connections for a request that the endpoint refused unprocessed.
const MOST_REFUSED: usize = 3;

/// Pause between looks for the endpoint's settings, only while connecting.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// HTTP/2 connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    endpoints: Mutex<HashMap<SocketAddr, Arc<Endpoint>>>,
}

#[derive(Debug, Default)]
struct Endpoint {
    connections: Mutex<Vec<Arc<Connection>>>,
    /// One request connects, the others wait for it: a burst must not open a connection each.
    opening: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Connection {
    sender: SendRequest<RequestBody>,
    streams: AtomicUsize,
    /// Most streams by the endpoint's settings.
    allowed: Arc<AtomicUsize>,
    used: Mutex<Instant>,
}

/// The use of one stream.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Arc<Connection>,
}

/// Sends to `address`.
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
    let endpoint = connections.endpoint(address);
    let mut refused = 0;
    loop {
        let lease = endpoint.lease(address, timeout).await?;
        let taken = body.take().ok_or(SendError::Unsendable)?;
        let request = head.http2(taken)?;
        let mut sender = lease.connection.sender.clone();
        let mut failed = match sender.try_send_request(request).await {
            Ok(response) => {
                return Ok(Answer {
                    response,
                    lease: super::Lease::Http2(lease),
                });
            }
            Err(failed) => failed,
        };
        refused += 1;
        match failed.take_message() {
            // Not sent: the connection was closing. Another one takes it.
            Some(request) if refused < MOST_REFUSED => body.restore(request.into_body()),
            _ => return Err(SendError::from_hyper(failed.into_error())),
        }
        endpoint.forget(&lease.connection);
    }
}

// === impl Connections ===

impl Connections {
    fn endpoint(&self, address: SocketAddr) -> Arc<Endpoint> {
        Arc::clone(self.endpoints.lock().entry(address).or_default())
    }

    /// Closes what was idle for `limit`.
    pub(super) fn sweep(&self, limit: Duration) {
        self.endpoints.lock().retain(|_, endpoint| {
            let mut connections = endpoint.connections.lock();
            connections.retain(|c| {
                !c.sender.is_closed()
                    && (c.streams.load(Ordering::Relaxed) > 0 || c.used.lock().elapsed() < limit)
            });
            !connections.is_empty() || Arc::strong_count(endpoint) > 1
        });
    }
}

// === impl Endpoint ===

impl Endpoint {
    async fn lease(&self, address: SocketAddr, timeout: Duration) -> Result<Lease, ConnectError> {
        if let Some(lease) = self.free() {
            return Ok(lease);
        }
        let asked = Instant::now();
        let mut last_failure = self.opening.lock().await;
        if let Some(lease) = self.free() {
            return Ok(lease);
        }
        if last_failure.is_some_and(|at| at >= asked) {
            return Err(ConnectError::Shared { address });
        }
        match open(address, timeout).await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                self.connections.lock().push(Arc::clone(&connection));
                Ok(Lease::new(connection))
            }
            Err(error) => {
                *last_failure = Some(Instant::now());
                Err(error)
            }
        }
    }

    /// A stream on a connection that has room.
    fn free(&self) -> Option<Lease> {
        let mut connections = self.connections.lock();
        connections.retain(|c| !c.sender.is_closed());
        connections
            .iter()
            .find(|c| c.has_room())
            .map(|c| Lease::new(Arc::clone(c)))
    }

    fn forget(&self, connection: &Arc<Connection>) {
        self.connections
            .lock()
            .retain(|c| !Arc::ptr_eq(c, connection));
    }
}

/// Connects and waits for the endpoint's settings, so that a silent peer fails here, where other
/// endpoints can still be tried.
async fn open(address: SocketAddr, timeout: Duration) -> Result<Connection, ConnectError> {
    let stream = connect::connect(address, timeout).await?;
    let (sender, driver) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .initial_max_send_streams(0)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_ANSWER)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|source| ConnectError::Handshake { address, source })?;
    let mut driver = Box::pin(driver);
    let most = match tokio::time::timeout(timeout, settings(&mut driver)).await {
        Ok(Some(most)) => most,
        Ok(None) => return Err(ConnectError::Closed { address }),
        Err(_elapsed) => return Err(ConnectError::Timeout { address, timeout }),
    };
    let allowed = Arc::new(AtomicUsize::new(most));
    let told = Arc::clone(&allowed);
    tokio::spawn(async move {
        let ended = std::future::poll_fn(|cx| {
            let polled = driver.as_mut().poll(cx);
            if polled.is_pending() {
                told.store(driver.current_max_send_streams(), Ordering::Relaxed);
            }
            polled
        })
        .await;
        if let Err(error) = ended {
            tracing::debug!(%address, %error, "endpoint connection");
        }
    });
    Ok(Connection {
        sender,
        streams: AtomicUsize::new(0),
        allowed,
        used: Mutex::new(Instant::now()),
    })
}

type Driver =
    hyper::client::conn::http2::Connection<TokioIo<TcpStream>, RequestBody, TokioExecutor>;

/// Waits until the endpoint has told its settings: before, no stream is allowed. hyper reads them in
/// a task of its own that does not wake the driver, hence the looking.
/// `None`: the connection has ended.
async fn settings(driver: &mut Pin<Box<Driver>>) -> Option<usize> {
    loop {
        let ended =
            std::future::poll_fn(|cx| Poll::Ready(driver.as_mut().poll(cx).is_ready())).await;
        let most = driver.current_max_send_streams();
        if ended {
            return None;
        }
        if most > 0 {
            return Some(most);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

// === impl Connection ===

impl Connection {
    fn has_room(&self) -> bool {
        let most = self.allowed.load(Ordering::Relaxed).min(MOST_STREAMS);
        self.streams.load(Ordering::Relaxed) < most
    }
}

// === impl Lease ===

impl Lease {
    fn new(connection: Arc<Connection>) -> Self {
        connection.streams.fetch_add(1, Ordering::Relaxed);
        Self { connection }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.connection.used.lock() = Instant::now();
        self.connection.streams.fetch_sub(1, Ordering::Relaxed);
    }
}
