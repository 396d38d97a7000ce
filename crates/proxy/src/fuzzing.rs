//! For fuzz targets: what a whole HTTP/1.1 connection of these bytes would ask for.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::head;
use crate::head_guard::Guard;
use crate::snapshot::Limits;

/// A request that passed all checks.
#[derive(Debug)]
pub struct Accepted {
    /// Host as the matcher gets it.
    pub host: String,
    /// Head as filters and endpoints get it.
    pub parts: Parts,
    /// Bytes of the body; `None` when it was not valid.
    pub body: Option<usize>,
}

/// The requests in `bytes`, as they come in pieces of `piece` bytes, that pass all checks.
#[must_use]
pub fn accepted(bytes: &[u8], piece: usize) -> Vec<Accepted> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&found);
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let (mut parts, body) = request.into_parts();
            let host = head::check(&mut parts, &Limits::default());
            let body = body.collect().await.ok().map(|b| b.to_bytes().len());
            if let (Ok(host), Ok(mut seen)) = (host, seen.lock()) {
                seen.push(Accepted { host, parts, body });
            }
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::new())))
        }
    });
    let script = Script {
        left: bytes.to_vec().into(),
        piece: piece.max(1),
    };
    let limits = Limits::default();
    let serving = http1::Builder::new()
        .half_close(true)
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_header_size(limits.head_bytes)
        .serve_connection(TokioIo::new(Guard::new(script)), service);
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    {
        // How the connection ends does not matter, only what it let through.
        let _ = runtime.block_on(serving);
    }
    found
        .lock()
        .map(|mut f| std::mem::take(&mut *f))
        .unwrap_or_default()
}

/// A client that sends its bytes in pieces, leaves, and hears nothing.
struct Script {
    left: Bytes,
    piece: usize,
}

// === impl Script ===

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n = self.piece.min(self.left.len()).min(buf.remaining());
        buf.put_slice(&self.left.split_to(n));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Script {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
