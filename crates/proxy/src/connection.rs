//! One client connection: TLS or not, HTTP/1.1 or 2, request after request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use suimon_routing::table::Protocol;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::detect::{self, Version};
use crate::head_guard::Guard;
use crate::serve::serve;
use crate::snapshot::Limits;
use crate::stream::ResponseBody;
use crate::tls;
use crate::upstream::connect;
use crate::worker::{Arrival, Worker};

/// Streams of one HTTP/2 client at a time: more than browsers and SDKs open, few enough that one
/// client cannot hold a worker.
const MOST_STREAMS: u32 = 128;

/// Most bytes of an HTTP/2 head, as HPACK counts them.
const MOST_HEAD: u32 = 32 << 10;

/// HTTP/2 clients that vanish without a word are found out by a ping.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(10);

/// What is known of the client, for all requests of its connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) worker: Arc<Worker>,
    /// Address of the bind, as published.
    pub(crate) bind: SocketAddr,
    /// Port that the client connected to.
    pub(crate) port: u16,
    /// `ip:port` of the client, as it is logged.
    pub(crate) peer: Box<str>,
    pub(crate) tls: bool,
    /// Server name of the TLS handshake.
    pub(crate) sni: Option<Box<str>>,
}

/// Serves a connection until it ends.
pub(crate) async fn run(arrival: Arrival, worker: Arc<Worker>) {
    let Arrival {
        stream,
        peer,
        bind,
        closing,
        open,
    } = arrival;
    worker.shared.observer.connection_opened();
    let observer = Arc::clone(&worker.shared.observer);
    if let Err(error) = accept(stream, peer, bind, closing, worker).await {
        tracing::debug!(%peer, %error, "client connection");
    }
    observer.connection_closed();
    drop(open);
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn accept(
    stream: std::net::TcpStream,
    peer: SocketAddr,
    bind: SocketAddr,
    mut closing: watch::Receiver<u64>,
    worker: Arc<Worker>,
) -> Result<(), Failure> {
    let stream = TcpStream::from_std(stream)?;
    stream.set_nodelay(true)?;
    connect::keep_alive(&stream);
    let current = worker.shared.current.load_full();
    let Some(published) = current.snapshot.bind(bind) else {
        return Ok(());
    };
    let limits = current.snapshot.limits.clone();
    let port = stream.local_addr()?.port();
    let mut client = Client {
        worker,
        bind,
        port,
        peer: peer.to_string().into(),
        tls: false,
        sni: None,
    };
    match published.protocol {
        Protocol::Http => {
            drop(current);
            // A client that has sent nothing loses nothing.
            let version = tokio::select! {
                version = detect::version(&stream, limits.first_byte) => version?,
                _ = closing.changed() => return Ok(()),
            };
            serve_as(version, stream, client, &limits, closing).await
        }
        Protocol::Https => {
            let Some(config) = current.tls.bind(bind) else {
                return Err("no usable certificate".into());
            };
            drop(current);
            let secured = tokio::select! {
                secured = tls::accept(stream, config, limits.tls_handshake) => secured?,
                _ = closing.changed() => return Ok(()),
            };
            client.tls = true;
            client.sni = secured.sni;
            serve_as(secured.version, secured.stream, client, &limits, closing).await
        }
    }
}

async fn serve_as<S>(
    version: Version,
    stream: S,
    client: Client,
    limits: &Limits,
    closing: watch::Receiver<u64>,
) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let client = Arc::new(client);
    match version {
        Version::Http1 => serve_http1(stream, client, limits, closing).await?,
        Version::Http2 => serve_http2(stream, client, limits.http2_idle, closing).await?,
    }
    Ok(())
}

async fn serve_http1<S>(
    stream: S,
    client: Arc<Client>,
    limits: &Limits,
    mut closing: watch::Receiver<u64>,
) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(Guard::new(stream));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        // Also bounds how long a kept-alive connection may be idle.
        .header_read_timeout(limits.head_read)
        // One flat write is cheaper than a vectored one of two or three small pieces.
        .writev(false)
        .max_headers(limits.headers)
        // Not `max_buf_size`: that would also make reads of large bodies small.
        .max_header_size(limits.head_bytes)
        .serve_connection(io, Serving(client))
        .with_upgrades();
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => return ended,
        _ = closing.changed() => serving.as_mut().graceful_shutdown(),
    }
    serving.await
}

async fn serve_http2<S>(
    stream: S,
    client: Arc<Client>,
    limit: Duration,
    mut closing: watch::Receiver<u64>,
) -> hyper::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let serving = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEAD)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_ANSWER)
        .serve_connection(TokioIo::new(stream), Serving(Arc::clone(&client)));
    let mut serving = pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => ended,
        _ = closing.changed() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
        () = idle(&client, limit) => {
            serving.as_mut().graceful_shutdown();
            // Nothing is under way: a client that does not say goodbye is not waited for.
            let goodbye = tokio::time::timeout(limit.min(PING_ANSWER), serving);
            goodbye.await.unwrap_or(Ok(()))
        }
    }
}

/// Ends when two looks, half of `limit` apart, found no request. A request holds the client.
async fn idle(client: &Arc<Client>, limit: Duration) {
    /// The service's and ours.
    const WITHOUT_REQUESTS: usize = 2;
    let mut was_idle = false;
    loop {
        tokio::time::sleep(limit / 2).await;
        let is_idle = Arc::strong_count(client) <= WITHOUT_REQUESTS;
        if is_idle && was_idle {
            return;
        }
        was_idle = is_idle;
    }
}

/// The service that hyper calls.
#[derive(Debug, Clone)]
struct Serving(Arc<Client>);

// === impl Serving ===

impl Service<Request<Incoming>> for Serving {
    type Response = Response<ResponseBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let client = Arc::clone(&self.0);
        Box::pin(async move { Ok(serve(request, &client).await) })
    }
}
