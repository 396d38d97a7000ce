//! One stream of `ExternalProcessor/Process`, as the client sees it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{RecvStream, SendStream};
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, Version};

use super::connect::{Connection, Open};
use super::error::ClientError;
use super::settings::RemoteSettings;
use crate::codec::Message;
use crate::grpc::{Deframer, frame};
use crate::message::{ProcessingRequest, ProcessingResponse};

/// Longest message that is taken: a picker may give a body back in one piece.
const LONGEST: usize = 64 << 20;

/// Status of gRPC, and in its words.
const GRPC_STATUS: &str = "grpc-status";
const GRPC_MESSAGE: &str = "grpc-message";

/// One stream. Dropping it before its end resets it.
#[derive(Debug)]
pub(super) struct Call {
    send: SendStream<Bytes>,
    receive: Receive,
    deframer: Deframer,
    /// Framed messages that wait for the picker's window.
    waiting: VecDeque<Bytes>,
    /// Whether the end follows `waiting`.
    ending: bool,
    _open: Open,
}

#[derive(Debug)]
enum Receive {
    Head(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
    Over,
}

// === impl Call ===

impl Call {
    /// Opens a stream on `connection`.
    ///
    /// # Errors
    /// The connection cannot be used any more.
    pub(super) async fn open(
        connection: Connection,
        settings: &RemoteSettings,
    ) -> Result<Self, ClientError> {
        let open = connection.open();
        let mut sender = connection.sender.ready().await?;
        let (head, send) = sender.send_request(request(settings), false)?;
        Ok(Self {
            send,
            receive: Receive::Head(head),
            deframer: Deframer::new(LONGEST),
            waiting: VecDeque::new(),
            ending: false,
            _open: open,
        })
    }

    /// Takes a message to be sent as soon as the picker takes it.
    pub(super) fn push(&mut self, message: &ProcessingRequest) {
        self.waiting.push_back(frame(std::slice::from_ref(message)));
    }

    /// Says that nothing more is asked.
    pub(super) fn finish(&mut self) {
        self.ending = true;
    }

    /// Bytes that wait to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.iter().map(Bytes::len).sum()
    }

    /// The next message; `None`: the picker ended the stream well.
    ///
    /// # Errors
    /// The stream or its connection broke, or what came is no answer.
    pub(super) async fn next(&mut self) -> Result<Option<ProcessingResponse>, ClientError> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// As [`Call::next`]. Sends what can be sent first.
    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ProcessingResponse>, ClientError>> {
        // A picker may answer and end before it has read everything: what it said counts more than
        // that nothing more can be sent.
        let sent = self.poll_send(cx);
        let received = self.poll_receive(cx);
        match (sent, received) {
            (Poll::Ready(Err(error)), Poll::Pending) => Poll::Ready(Err(error)),
            (_, received) => received,
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        while let Some(next) = self.waiting.front_mut() {
            self.send.reserve_capacity(next.len());
            let room = match ready!(self.send.poll_capacity(cx)) {
                Some(room) => room?,
                None => return Poll::Pending,
            };
            let piece = next.split_to(room.min(next.len()));
            let done = next.is_empty();
            self.send.send_data(piece, false)?;
            if done {
                self.waiting.pop_front();
            }
        }
        if std::mem::take(&mut self.ending) {
            self.send.send_data(Bytes::new(), true)?;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<ProcessingResponse>, ClientError>> {
        loop {
            let unreadable =
                |error: &dyn std::fmt::Display| ClientError::Message(error.to_string());
            if let Some(message) = self.deframer.next().map_err(|error| unreadable(&error))? {
                let message = <ProcessingResponse as Message>::decode(&message);
                return Poll::Ready(message.map(Some).map_err(|error| unreadable(&error)));
            }
            match &mut self.receive {
                Receive::Head(head) => {
                    let (head, body) = ready!(Pin::new(head).poll(cx))?.into_parts();
                    if head.status != StatusCode::OK {
                        return Poll::Ready(Err(ClientError::Status(head.status)));
                    }
                    // An answer that is only an error has its status here.
                    check(&head.headers)?;
                    self.receive = Receive::Body(body);
                }
                Receive::Body(body) => match ready!(body.poll_data(cx)) {
                    Some(data) => {
                        let data = data?;
                        body.flow_control().release_capacity(data.len())?;
                        self.deframer.push(data);
                    }
                    None => {
                        let Receive::Body(body) =
                            std::mem::replace(&mut self.receive, Receive::Over)
                        else {
                            continue;
                        };
                        self.receive = Receive::Trailers(body);
                    }
                },
                Receive::Trailers(body) => {
                    let trailers = ready!(body.poll_trailers(cx))?;
                    self.receive = Receive::Over;
                    check(&trailers.unwrap_or_default())?;
                }
                Receive::Over => return Poll::Ready(Ok(None)),
            }
        }
    }
}

/// The request of a stream.
fn request(settings: &RemoteSettings) -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    let scheme = if settings.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(&*settings.authority)
        .path_and_query(crate::grpc::PROCESS);
    // The authority is a Service's name: it is a valid one.
    *request.uri_mut() = uri.build().unwrap_or_default();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    request
}

/// Whether headers or trailers tell of an error.
fn check(headers: &HeaderMap) -> Result<(), ClientError> {
    let status = headers.get(GRPC_STATUS).and_then(|code| code.to_str().ok());
    let code = status.map_or(Some(0), |code| code.parse().ok());
    match code {
        Some(0) => Ok(()),
        code => Err(ClientError::Grpc {
            code: code.unwrap_or(2),
            message: headers
                .get(GRPC_MESSAGE)
                .map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned())
                .unwrap_or_default(),
        }),
    }
}
