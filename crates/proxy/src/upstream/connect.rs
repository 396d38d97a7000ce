//! TCP connections to endpoints.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// No connection could be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// Refused or unreachable.
    #[error("cannot connect to `{address}`")]
    Refused {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// No answer within the time limit.
    #[error("cannot connect to `{address}` within {timeout:?}")]
    Timeout {
        address: SocketAddr,
        timeout: Duration,
    },
    /// Connected, and then the HTTP handshake failed.
    #[error("cannot speak HTTP with `{address}`")]
    Handshake {
        address: SocketAddr,
        #[source]
        source: hyper::Error,
    },
    /// Connected, and closed before the HTTP handshake was done.
    #[error("`{address}` closed the connection")]
    Closed { address: SocketAddr },
    /// Another request has just failed to connect to the same endpoint.
    #[error("cannot connect to `{address}`: another request has just failed to")]
    Shared { address: SocketAddr },
}

/// A stream that notes whether anything was received: only then a request may have been handled.
#[derive(Debug)]
pub(crate) struct Tap {
    stream: TcpStream,
    heard: Heard,
}

/// Writes of up to this many bytes go out in one piece: copying them costs less than what the kernel
/// takes for a write of several pieces.
const FLAT: usize = 4 << 10;

/// Shared note of a [`Tap`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Heard(Arc<AtomicBool>);

/// Connects within `timeout`.
///
/// # Errors
/// Refused, unreachable or too slow.
pub(crate) async fn connect(
    address: SocketAddr,
    timeout: Duration,
) -> Result<TcpStream, ConnectError> {
    match tokio::time::timeout(timeout, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => {
            // Small events must not wait for acknowledgements. Failing to set it is only slower.
            let _ = stream.set_nodelay(true);
            keep_alive(&stream);
            Ok(stream)
        }
        Ok(Err(source)) => Err(ConnectError::Refused { address, source }),
        Err(_elapsed) => Err(ConnectError::Timeout { address, timeout }),
    }
}

/// Time without traffic after which the kernel asks whether the peer is still there. A response can
/// be silent for minutes, and a peer that lost power says nothing.
const ASK_AFTER: Duration = Duration::from_secs(60);

/// Lets the kernel find out peers that are gone. Failing to set it only delays that.
pub(crate) fn keep_alive(stream: &TcpStream) {
    let asking = socket2::TcpKeepalive::new().with_time(ASK_AFTER);
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&asking);
}

// === impl Heard ===

impl Heard {
    pub(crate) fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

// === impl Tap ===

impl Tap {
    pub(crate) fn new(stream: TcpStream) -> (Self, Heard) {
        let heard = Heard::default();
        (
            Self {
                stream,
                heard: heard.clone(),
            },
            heard,
        )
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.heard.0.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl AsyncWrite for Tap {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len: usize = bufs.iter().map(|buf| buf.len()).sum();
        if len > FLAT {
            return Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        }
        let mut flat = SmallVec::<[u8; FLAT]>::new();
        for buf in bufs {
            flat.extend_from_slice(buf);
        }
        Pin::new(&mut self.stream).poll_write(cx, &flat)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
