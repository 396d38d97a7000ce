//! One endpoint's connection: opened when needed, kept alive, opened again when it was closed.

use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_ENCODING, HOST};
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Shared;
use crate::error::ScrapeError;

/// The largest page that is read.
pub(super) const PAGE_CAP: usize = 8 << 20;

/// Buffers kept for the next pages, and the largest that is kept.
const KEPT_BUFFERS: usize = 32;
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// The classic text format, the only one that is read here.
const TEXT_FORMAT: &str = "text/plain;version=0.0.4";

/// The way to one metrics server.
pub(super) struct Client {
    address: SocketAddr,
    host: HeaderValue,
    tls: Option<TlsConnector>,
    open: Option<Connection>,
}

/// An open connection. `driver` is polled with the request that waits for it, in the same task: a
/// task of its own would cost two more wakes a scrape.
struct Connection {
    sender: SendRequest<Empty<Bytes>>,
    driver: Option<Driver>,
}

type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

// === impl Client ===

impl Client {
    pub(super) fn new(address: SocketAddr, tls: Option<&TlsConnector>) -> Self {
        // Text of a socket address is always a header value.
        let host = HeaderValue::try_from(address.to_string());
        Self {
            address,
            host: host.unwrap_or_else(|_| HeaderValue::from_static("")),
            tls: tls.cloned(),
            open: None,
        }
    }

    /// Reads the page at `path` into a buffer of the shared ones. When the future is dropped, the
    /// connection is closed: a late reply is never taken for that of the next request.
    pub(super) async fn get(
        &mut self,
        path: &Uri,
        shared: &Shared,
    ) -> Result<Vec<u8>, ScrapeError> {
        if let Some(mut connection) = self.open.take() {
            match connection.get(path, &self.host, shared).await {
                // Servers close idle connections when they like.
                Err(ScrapeError::Http(_)) => {}
                result => {
                    self.keep(connection);
                    return result;
                }
            }
        }
        let mut connection = connect(self.address, self.tls.as_ref()).await?;
        let result = connection.get(path, &self.host, shared).await;
        self.keep(connection);
        result
    }

    /// A connection whose reply was not read to its end is closed when it is next used.
    fn keep(&mut self, connection: Connection) {
        let usable = connection.driver.is_some() && !connection.sender.is_closed();
        self.open = usable.then_some(connection);
    }
}

// === impl Connection ===

impl Connection {
    async fn new<S>(stream: S) -> Result<Self, ScrapeError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, driver) = handshake(TokioIo::new(stream)).await?;
        Ok(Self {
            sender,
            driver: Some(Box::pin(driver)),
        })
    }

    async fn get(
        &mut self,
        path: &Uri,
        host: &HeaderValue,
        shared: &Shared,
    ) -> Result<Vec<u8>, ScrapeError> {
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = path.clone();
        request.headers_mut().insert(HOST, host.clone());
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static(TEXT_FORMAT));
        let Self { sender, driver } = self;
        let exchange = async {
            sender.ready().await?;
            read(sender.send_request(request).await?, shared).await
        };
        tokio::pin!(exchange);
        if let Some(running) = driver {
            tokio::select! {
                biased;
                result = &mut exchange => return result,
                _ended = running => {}
            }
            // The reply may have come whole before the connection ended; and if it has not, the
            // exchange knows why.
            *driver = None;
        }
        exchange.await
    }
}

async fn connect(
    address: SocketAddr,
    tls: Option<&TlsConnector>,
) -> Result<Connection, ScrapeError> {
    let stream = TcpStream::connect(address)
        .await
        .map_err(ScrapeError::Connect)?;
    stream.set_nodelay(true).map_err(ScrapeError::Connect)?;
    let Some(tls) = tls else {
        return Connection::new(stream).await;
    };
    let stream = tls.connect(address.ip().into(), stream).await;
    Connection::new(stream.map_err(ScrapeError::Handshake)?).await
}

/// Checks the head and reads the body, at most [`PAGE_CAP`] of it.
async fn read(reply: Response<Incoming>, shared: &Shared) -> Result<Vec<u8>, ScrapeError> {
    let (head, mut body) = reply.into_parts();
    if head.status != StatusCode::OK {
        return Err(ScrapeError::Status(head.status.as_u16()));
    }
    let encoding = head.headers.get(CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        return Err(ScrapeError::Encoded);
    }
    let mut page = shared.take_buffer();
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame?.into_data() else {
            continue;
        };
        if page.len() + part.len() > PAGE_CAP {
            return Err(ScrapeError::TooLarge(PAGE_CAP));
        }
        page.extend_from_slice(&part);
    }
    Ok(page)
}

// === impl Shared ===

impl Shared {
    fn take_buffer(&self) -> Vec<u8> {
        self.pages.lock().pop().unwrap_or_default()
    }

    /// Gives a page back for the next scrape.
    pub(super) fn give_buffer(&self, mut page: Vec<u8>) {
        page.clear();
        let mut pages = self.pages.lock();
        if pages.len() < KEPT_BUFFERS && page.capacity() <= KEPT_BUFFER_BYTES {
            pages.push(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_ipv6_address_has_brackets() {
        let client = Client::new("[fd00::1]:8000".parse().unwrap(), None);
        assert_eq!(client.host, "[fd00::1]:8000");
    }

    #[test]
    fn buffers_are_used_again_unless_they_grew_large() {
        let shared = Shared::default();
        let mut page = Vec::with_capacity(100);
        page.push(b'x');
        shared.give_buffer(page);
        shared.give_buffer(Vec::with_capacity(KEPT_BUFFER_BYTES + 1));
        let page = shared.take_buffer();
        assert!(page.is_empty() && page.capacity() >= 100 && page.capacity() < KEPT_BUFFER_BYTES);
        assert_eq!(shared.take_buffer().capacity(), 0);
    }
}
