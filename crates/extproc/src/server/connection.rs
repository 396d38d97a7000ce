//! An HTTP/2 connection of a proxy.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, Connection, SendResponse};
use http::{Method, Request, Response, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::accept::Upgrade;
use super::stream::{Stream, encodes};
use super::worker::Arrival;
use super::{Services, Shared, Transport, health, process};
use crate::grpc::{Code, PROCESS};

/// Bytes of a stream that a peer may send ahead of us.
const STREAM_WINDOW: u32 = 1 << 20;

/// Bytes of a connection that a peer may send ahead of us.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Longest head of a gRPC request, in bytes. What a client sent is in messages, not here.
const HEAD: u32 = 32 << 10;

/// Streams that a peer may have reset before we looked at them. A proxy resets the stream of each
/// client that leaves, and many may leave at once; the default of h2 would end the connection.
const RESETS: usize = 10_000;

/// Tells of a connection.
struct Announced<'a>(&'a Shared);

/// Serves a connection until it ends.
pub(crate) async fn run(arrival: Arrival, upgrade: impl Upgrade, shared: Arc<Shared>) {
    let Arrival { stream, open } = arrival;
    let limit = shared.options.handshake;
    let ready = tokio::time::timeout(limit, shake(stream, &upgrade, &shared)).await;
    let connection = match ready {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => {
            tracing::debug!(%error, "handshake with a proxy");
            return;
        }
        Err(_elapsed) => {
            tracing::debug!("a proxy is silent");
            return;
        }
    };
    let announced = Announced::new(&shared);
    if let Err(error) = serve(connection, &shared).await {
        tracing::debug!(%error, "connection of a proxy");
    }
    drop(announced);
    drop(open);
}

async fn shake<U: Upgrade>(
    stream: std::net::TcpStream,
    upgrade: &U,
    shared: &Shared,
) -> io::Result<Connection<U::Transport, Bytes>> {
    let transport = upgrade.upgrade(TcpStream::from_std(stream)?).await?;
    let connection = server::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEAD)
        .max_concurrent_streams(shared.options.streams)
        .max_pending_accept_reset_streams(RESETS)
        .handshake(transport)
        .await;
    connection.map_err(io::Error::other)
}

/// Takes streams until the peer or we have had enough. Streams run on their own, so that a pick that
/// waits holds up nobody; they end when the connection does.
async fn serve<T: Transport>(
    mut connection: Connection<T, Bytes>,
    shared: &Arc<Shared>,
) -> Result<(), h2::Error> {
    let mut draining = shared.draining.subscribe();
    let mut told = false;
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                None => return Ok(()),
                Some(stream) => {
                    let (request, respond) = stream?;
                    dispatch(request, respond, shared);
                }
            },
            () = drains(&mut draining), if !told => {
                told = true;
                connection.graceful_shutdown();
            }
        }
    }
}

pub(super) async fn drains(draining: &mut watch::Receiver<bool>) {
    // The sender lives as long as this connection.
    let _ = draining.wait_for(|draining| *draining).await;
}

/// Finds the method.
fn dispatch(request: Request<RecvStream>, mut respond: SendResponse<Bytes>, shared: &Arc<Shared>) {
    let (head, body) = request.into_parts();
    if head.method != Method::POST || !speaks_grpc(&head.headers) {
        refuse(&mut respond);
        return;
    }
    let shared = Arc::clone(shared);
    let stream = Stream::new(body, respond, shared.message_limit());
    if encodes(&head.headers) {
        stream.refuse(Code::Unimplemented, "no compression is understood");
        return;
    }
    let services = shared.options.services;
    match head.uri.path() {
        PROCESS if services != Services::Health => {
            tokio::spawn(process::run(stream, shared));
        }
        "/grpc.health.v1.Health/Check" if services != Services::Processing => {
            tokio::spawn(health::check(stream, shared));
        }
        "/grpc.health.v1.Health/List" if services != Services::Processing => {
            tokio::spawn(health::list(stream, shared));
        }
        _ => stream.refuse(Code::Unimplemented, "no such method"),
    }
}

fn speaks_grpc(headers: &http::HeaderMap) -> bool {
    let kind = headers.get(http::header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// Answers what is not gRPC.
fn refuse(respond: &mut SendResponse<Bytes>) {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    // A peer that has gone cannot be told.
    let _ = respond.send_response(response, true);
}

// === impl Announced ===

impl<'a> Announced<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.processor.connection_opened();
        Self(shared)
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.0.processor.connection_closed();
    }
}
