//! One connection to a picker.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::error::ClientError;
use super::settings::{ClientTls, RemoteSettings};

/// Bytes that a stream may have on its way to us: a few chunks of a body.
const STREAM_WINDOW: u32 = 1 << 20;
/// The same for all streams of a connection.
const CONNECTION_WINDOW: u32 = 16 << 20;

/// A connection, shared by the streams of one worker thread.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) address: SocketAddr,
    pub(super) sender: SendRequest<Bytes>,
    closed: Arc<AtomicBool>,
    streams: Arc<AtomicUsize>,
}

/// Counts one stream of a connection.
#[derive(Debug)]
pub(super) struct Open(Arc<AtomicUsize>);

/// Connects to `address`. The connection is driven on this thread until nobody uses it.
///
/// # Errors
/// [`ClientError::Connect`], [`ClientError::Tls`] or [`ClientError::Http2`].
pub(super) async fn connect(
    address: SocketAddr,
    settings: &RemoteSettings,
) -> Result<Connection, ClientError> {
    let failed = |source| ClientError::Connect { address, source };
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let Some(tls) = &settings.tls else {
        return handshake(stream, address).await;
    };
    let stream = secure(stream, tls).await;
    let stream = stream.map_err(|source| ClientError::Tls { address, source })?;
    handshake(stream, address).await
}

async fn secure(
    stream: TcpStream,
    tls: &ClientTls,
) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let connector = TlsConnector::from(Arc::clone(&tls.config));
    connector.connect(tls.name.clone(), stream).await
}

async fn handshake<S>(stream: S, address: SocketAddr) -> Result<Connection, ClientError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, driver) = h2::client::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .enable_push(false)
        .handshake(stream)
        .await?;
    let closed = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&closed);
    tokio::spawn(async move {
        if let Err(error) = driver.await {
            tracing::debug!(%address, %error, "connection to the picker");
        }
        ended.store(true, Ordering::Relaxed);
    });
    Ok(Connection {
        address,
        sender,
        closed,
        streams: Arc::default(),
    })
}

// === impl Connection ===

impl Connection {
    /// Whether it still can be used, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Relaxed)
    }

    /// Whether the picker takes another stream at once.
    pub(super) fn has_room(&self) -> bool {
        self.streams.load(Ordering::Relaxed) < self.sender.current_max_send_streams()
    }

    /// Counts a stream until the guard is dropped.
    pub(super) fn open(&self) -> Open {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(&self.streams))
    }
}

// === impl Open ===

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
