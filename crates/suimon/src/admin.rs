//! The admin server: metrics, readiness, JSON of pools and decisions, dashboard.
//!
//! | path | what |
//! |---|---|
//! | `/metrics` | Prometheus |
//! | `/live`, `/ready` | 200 or 503, with the reason |
//! | `/api/pools` | pools and endpoints with their live state |
//! | `/api/decisions?limit=N` | the newest decisions, newest first |
//! | `/` | dashboard |

mod api;
mod gauges;
mod pages;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use suimon_telemetry::metrics::BbrMetrics;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::wire::publish::Publisher;

/// The admin server.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

/// What the admin server shows.
#[derive(Debug)]
pub struct AdminState {
    /// Absent where there are no pools to show.
    publisher: Option<Arc<Publisher>>,
    /// Of body-based routing.
    bbr: Option<Arc<BbrMetrics>>,
    bound: Arc<AtomicBool>,
    started: Instant,
}

/// Connections at once; further ones are closed at once.
const CONNECTIONS: usize = 64;

/// Longest life of a connection.
const CONNECTION_TIME: Duration = Duration::from_secs(30);

/// Decisions in one answer when no limit is given.
const DEFAULT_DECISIONS: usize = 50;

// === impl AdminState ===

impl AdminState {
    /// Shows `publisher`; `bound` says whether listeners are bound.
    #[must_use]
    pub fn new(publisher: Arc<Publisher>, bound: Arc<AtomicBool>) -> Self {
        Self {
            publisher: Some(publisher),
            bbr: None,
            bound,
            started: Instant::now(),
        }
    }

    /// Shows only that the process lives.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            publisher: None,
            bbr: None,
            bound: Arc::new(AtomicBool::new(true)),
            started: Instant::now(),
        }
    }

    /// Shows what body-based routing counts; `bound` says whether requests are taken.
    #[must_use]
    pub fn bbr(metrics: Arc<BbrMetrics>, bound: Arc<AtomicBool>) -> Self {
        Self {
            bbr: Some(metrics),
            bound,
            ..Self::bare()
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        }
        match request.uri().path() {
            "/live" => text(StatusCode::OK, "live\n"),
            "/ready" => self.ready(),
            "/metrics" => self.metrics(),
            "/api/pools" => json(&api::pools(self.publisher.as_deref(), self.started)),
            "/api/decisions" => json(&self.decisions(request.uri().query())),
            path => pages::page(path).unwrap_or_else(|| {
                text(
                    StatusCode::NOT_FOUND,
                    "known: / /metrics /live /ready /api/pools /api/decisions\n",
                )
            }),
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if !self.bound.load(Ordering::Acquire) {
            return text(StatusCode::SERVICE_UNAVAILABLE, "listeners are not bound\n");
        }
        let pools = self
            .publisher
            .as_ref()
            .map(|publisher| publisher.pools())
            .unwrap_or_default();
        let pending: usize = pools.iter().map(|pool| pool.pending()).sum();
        if pending > 0 {
            let why = format!("{pending} endpoints were neither scraped nor given up\n");
            return text(StatusCode::SERVICE_UNAVAILABLE, why);
        }
        text(StatusCode::OK, "ready\n")
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        let page = match (&self.publisher, &self.bbr) {
            (Some(publisher), _) => {
                gauges::refresh(publisher);
                publisher.shared().metrics.page()
            }
            (None, Some(metrics)) => metrics.page(),
            (None, None) => return text(StatusCode::OK, "# EOF\n"),
        };
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        respond(StatusCode::OK, kind, page)
    }

    fn decisions(&self, query: Option<&str>) -> Vec<Arc<suimon_picker::Record>> {
        let limit = query.and_then(|query| {
            query
                .split('&')
                .find_map(|pair| pair.strip_prefix("limit="))?
                .parse()
                .ok()
        });
        let publisher = self.publisher.as_ref();
        let limit = limit.unwrap_or(DEFAULT_DECISIONS);
        publisher
            .map(|p| p.shared().recorder.newest(limit))
            .unwrap_or_default()
    }
}

// === impl Admin ===

impl Admin {
    /// Binds and serves on the caller's runtime. `flag` chooses the port, for the error.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn start(address: SocketAddr, state: AdminState, flag: &str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await;
        let listener = listener.with_context(|| {
            format!("the admin server cannot listen on `{address}`; {flag} takes another")
        })?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(serve(listener, Arc::new(state)));
        Ok(Self { address, task })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections.
    pub async fn stop(self) {
        self.task.abort();
        // It ends by being cancelled, which is no fault.
        let _ = self.task.await;
    }
}

async fn serve(listener: TcpListener, state: Arc<AdminState>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = listener.accept().await;
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            // Out of file descriptors, most likely: they come back when connections end.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if connections.len() >= CONNECTIONS {
            continue;
        }
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let answer = service_fn(|request| {
                let response = state.answer(&request);
                async move { Ok::<_, std::convert::Infallible>(response) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(Duration::from_secs(10))
                .serve_connection(TokioIo::new(stream), answer);
            // A client that goes is no fault of ours; one that stays makes room for others.
            let _ = tokio::time::timeout(CONNECTION_TIME, connection).await;
        });
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    respond(status, "text/plain; charset=utf-8", body)
}

fn json(value: &impl serde::Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => respond(StatusCode::OK, "application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

fn respond(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'self'"),
    );
    response
}
