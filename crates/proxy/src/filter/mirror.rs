//! Copies of requests: sent and forgotten (Gateway API HTTPRequestMirrorFilter).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use http_body_util::BodyExt as _;
use suimon_routing::table::{Backend, Mirror};

use crate::snapshot::Snapshot;
use crate::upstream::{Outgoing, RequestHead, Target};
use crate::worker::Worker;

/// Copies in flight, a worker: a slow mirror loses copies, it never slows the primary.
const MOST: usize = 64;

/// Longest time that a copy may take.
const LIMIT: Duration = Duration::from_secs(60);

struct Duplicate {
    target: Target,
    method: Method,
    path: PathAndQuery,
    headers: HeaderMap,
    bytes: Bytes,
}

/// Sends the copies of one request, as it is now, with this body.
pub(crate) fn send(
    mirrors: &[Mirror],
    worker: &Arc<Worker>,
    snapshot: &Snapshot,
    parts: &Parts,
    bytes: &Bytes,
) {
    for mirror in mirrors {
        if !drawn(mirror.fraction) {
            continue;
        }
        let Some(target) = target(&mirror.backend, snapshot) else {
            tracing::debug!("mirror has no endpoint");
            continue;
        };
        let Some(place) = Place::take(&worker.mirrors) else {
            tracing::debug!("too many mirrored requests in flight");
            continue;
        };
        let root = PathAndQuery::from_static("/");
        let copy = Duplicate {
            target,
            method: parts.method.clone(),
            path: parts.uri.path_and_query().cloned().unwrap_or(root),
            headers: parts.headers.clone(),
            bytes: bytes.clone(),
        };
        let worker = Arc::clone(worker);
        let connect = snapshot.limits.connect;
        tokio::spawn(async move {
            let sending = copy.send(&worker, connect);
            if tokio::time::timeout(LIMIT, sending).await.is_err() {
                tracing::debug!("mirrored request timed out");
            }
            drop(place);
        });
    }
}

fn drawn((numerator, denominator): (u32, u32)) -> bool {
    denominator > 0 && rand::random_range(0..denominator) < numerator
}

fn target(backend: &Backend, snapshot: &Snapshot) -> Option<Target> {
    match backend {
        Backend::Pool(index) => {
            let pool = snapshot.pools.get(*index)?;
            let ready = pool.ready.load();
            Some(Target {
                address: any(&ready)?.address(),
                protocol: pool.protocol,
            })
        }
        Backend::Service(service) => Some(Target {
            address: *any::<SocketAddr>(&service.endpoints)?,
            protocol: service.protocol,
        }),
        Backend::Invalid { .. } => None,
    }
}

fn any<T>(of: &[T]) -> Option<&T> {
    (!of.is_empty()).then(|| of.get(rand::random_range(0..of.len())))?
}

// === impl Duplicate ===

impl Duplicate {
    async fn send(self, worker: &Worker, connect: Duration) {
        let head = RequestHead {
            method: &self.method,
            path: &self.path,
            headers: &self.headers,
        };
        let mut body = Outgoing::Kept {
            bytes: self.bytes,
            trailers: None,
        };
        match worker
            .upstream
            .send(self.target, connect, &head, &mut body)
            .await
        {
            Ok(answer) => {
                let mut response = answer.response.into_body();
                while let Some(Ok(_)) = response.frame().await {}
                answer.lease.done();
            }
            Err(error) => tracing::debug!(%error, "mirrored request"),
        }
    }
}

/// One of [`MOST`] places; free again on drop.
struct Place(Arc<AtomicUsize>);

// === impl Place ===

impl Place {
    fn take(places: &Arc<AtomicUsize>) -> Option<Self> {
        places
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < MOST).then_some(n + 1)
            })
            .ok()
            .map(|_| Self(Arc::clone(places)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
