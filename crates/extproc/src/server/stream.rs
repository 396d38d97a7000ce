//! One gRPC stream: messages out of DATA frames and into them.

use std::future::poll_fn;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderName, HeaderValue, Response};

use crate::grpc::{Code, Deframer, FrameError};
use crate::wire::DecodeError;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Both directions of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
}

/// What the peer sends.
#[derive(Debug)]
pub(crate) struct Inbox {
    body: RecvStream,
    deframer: Deframer,
}

/// What we send.
#[derive(Debug)]
pub(crate) struct Outbox {
    respond: SendResponse<Bytes>,
    /// `None` before the response's head is sent.
    body: Option<SendStream<Bytes>>,
}

/// How a stream ends before its time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    /// The peer reset the stream or the connection is gone. Proxies end each stream so.
    #[error("the peer ended the stream")]
    Gone(#[from] h2::Error),
    /// The peer's bytes are no messages.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A message is not what the method takes.
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

// === impl Stream ===

impl Stream {
    pub(crate) fn new(
        body: RecvStream,
        respond: SendResponse<Bytes>,
        message_limit: usize,
    ) -> Self {
        Self {
            inbox: Inbox {
                body,
                deframer: Deframer::new(message_limit),
            },
            outbox: Outbox {
                respond,
                body: None,
            },
        }
    }

    /// Ends the stream at once.
    pub(crate) fn refuse(mut self, code: Code, message: &'static str) {
        self.outbox.end(code, message);
    }
}

/// Whether a peer compresses its messages.
pub(crate) fn encodes(headers: &HeaderMap) -> bool {
    let encoding = headers.get(&GRPC_ENCODING);
    encoding.is_some_and(|encoding| encoding != "identity")
}

// === impl Inbox ===

impl Inbox {
    /// The next message that has arrived already.
    ///
    /// # Errors
    /// The bytes are no message.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        self.deframer.next()
    }

    /// Waits for more bytes. `false`: the peer says no more.
    ///
    /// Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// The peer ended the stream.
    pub(crate) async fn more(&mut self) -> Result<bool, h2::Error> {
        match poll_fn(|cx| self.body.poll_data(cx)).await {
            None => Ok(false),
            Some(chunk) => self.take(chunk?).map(|()| true),
        }
    }

    /// Takes bytes that have arrived, without waiting for them. `false`: none have.
    ///
    /// # Errors
    /// The peer ended the stream.
    pub(crate) async fn arrived(&mut self) -> Result<bool, h2::Error> {
        let polled = poll_fn(|cx| std::task::Poll::Ready(self.body.poll_data(cx))).await;
        match polled {
            std::task::Poll::Ready(Some(chunk)) => self.take(chunk?).map(|()| true),
            std::task::Poll::Ready(None) | std::task::Poll::Pending => Ok(false),
        }
    }

    /// Bytes are given back to the window at once: what they become is bounded by its own limits.
    fn take(&mut self, chunk: Bytes) -> Result<(), h2::Error> {
        self.body.flow_control().release_capacity(chunk.len())?;
        self.deframer.push(chunk);
        Ok(())
    }
}

// === impl Outbox ===

impl Outbox {
    /// Sends bytes as the peer's windows allow.
    ///
    /// # Errors
    /// The peer ended the stream.
    pub(crate) async fn send(&mut self, mut bytes: Bytes) -> Result<(), h2::Error> {
        let stream = self.open()?;
        while !bytes.is_empty() {
            stream.reserve_capacity(bytes.len());
            let Some(room) = poll_fn(|cx| stream.poll_capacity(cx)).await else {
                return Err(Reason::CANCEL.into());
            };
            let part = bytes.split_to(room?.min(bytes.len()));
            stream.send_data(part, false)?;
        }
        Ok(())
    }

    /// Ends the stream. A peer that has gone cannot be told.
    pub(crate) fn end(&mut self, code: Code, message: &'static str) {
        let mut trailers = HeaderMap::with_capacity(3);
        trailers.insert(GRPC_STATUS, HeaderValue::from(code as u16));
        if !message.is_empty() {
            trailers.insert(GRPC_MESSAGE, HeaderValue::from_static(message));
        }
        if let Some(body) = &mut self.body {
            let _ = body.send_trailers(trailers);
        } else {
            let mut response = head();
            response.headers_mut().extend(trailers);
            let _ = self.respond.send_response(response, true);
        }
    }

    fn open(&mut self) -> Result<&mut SendStream<Bytes>, h2::Error> {
        let body = match self.body.take() {
            Some(body) => body,
            None => self.respond.send_response(head(), false)?,
        };
        Ok(self.body.insert(body))
    }
}

/// The head of a response, which is the same for all.
fn head() -> Response<()> {
    let mut response = Response::new(());
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/grpc");
    headers.insert(http::header::CONTENT_TYPE, kind);
    let identity = HeaderValue::from_static("identity");
    headers.insert(GRPC_ACCEPT_ENCODING, identity);
    response
}
