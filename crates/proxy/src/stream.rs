//! Bodies of responses: chunk by chunk as they come.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use suimon_telemetry::{Blame, Reason};
use tokio::time::Sleep;

use crate::exchange::Exchange;
use crate::hop;
use crate::source::Source;
use crate::upstream::Lease;
use suimon_llm::ResponseReader;
use suimon_picker::FollowError;

/// A response's body.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// Ours, known whole.
    Full(Bytes),
    /// An endpoint's.
    Streaming(Box<Streaming>),
}

/// An endpoint's body on its way to the client. Dropping it before its end cancels the endpoint's
/// work and closes the account as such.
#[derive(Debug)]
pub(crate) struct Streaming {
    body: Source,
    lease: Option<Lease>,
    reading: Option<Reading>,
    exchange: Box<Exchange>,
    deadline: Option<Pin<Box<Sleep>>>,
    /// Ready to go before what `body` still has.
    ahead: Bytes,
    /// Whether `ahead` was counted when it came.
    counted: bool,
    /// Sent on last.
    trailers: Option<Frame<Bytes>>,
    state: State,
}

/// How a body is read as it passes.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) reader: ResponseReader,
    /// Whether it is an event stream.
    pub(crate) sse: bool,
    /// Whether names are put back, so that the length changes.
    pub(crate) restores: bool,
}

/// Why a body broke off; ends the client's connection or stream.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamError {
    /// The endpoint broke it off.
    #[error("the endpoint broke off its answer")]
    Endpoint(#[from] hyper::Error),
    /// The foreign picker that followed the answer failed, and the pool fails closed; or the picker
    /// had changed the answer, so that it could not go on.
    #[error("the endpoint picker broke off the answer")]
    Picker(#[source] FollowError),
    /// The rule's time limit ran out.
    #[error("the route's time limit ran out")]
    Timeout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// `body` has more.
    Reading,
    /// `body` has ended; `ahead` may still have bytes.
    Ended,
}

// === impl Streaming ===

impl Streaming {
    pub(crate) fn new(
        body: Source,
        lease: Lease,
        exchange: Box<Exchange>,
        reading: Option<Reading>,
        deadline: Option<Instant>,
    ) -> Self {
        let mut stream = Self {
            body,
            lease: Some(lease),
            reading,
            exchange,
            deadline: deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into()))),
            ahead: Bytes::new(),
            counted: false,
            trailers: None,
            state: State::Reading,
        };
        if stream.body.is_end_stream() {
            stream.end();
        }
        stream
    }

    /// Reads on until the end, or until more than `limit` bytes are there: then the length is known
    /// before the head is sent, or it is sent in chunks.
    ///
    /// # Errors
    /// The endpoint broke off: the account, so that an error can be sent instead.
    pub(crate) async fn gather(mut self, limit: usize) -> Result<Self, (Box<Exchange>, Reason)> {
        let mut gathered = BytesMut::new();
        while self.state == State::Reading && gathered.len() <= limit {
            match self.frame().await {
                None => break,
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        gathered.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => return Err((self.exchange, error.reason())),
            }
        }
        gathered.extend_from_slice(&self.ahead);
        self.ahead = gathered.freeze();
        self.counted = true;
        Ok(self)
    }

    /// The endpoint has sent everything.
    fn end(&mut self) {
        self.state = State::Ended;
        if let Some(lease) = self.lease.take() {
            lease.done();
        }
        if let Some(reading) = &mut self.reading {
            self.ahead = reading.reader.finish();
            self.exchange.read(&reading.reader, reading.sse);
        }
        if self.ahead.is_empty() {
            self.exchange.completed();
        }
    }

    /// What of a frame is to be sent on now.
    fn read(&mut self, frame: Frame<Bytes>) -> Option<Bytes> {
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => {
                let mut trailers = frame.into_trailers().ok()?;
                hop::strip_trailers(&mut trailers);
                self.trailers = Some(Frame::trailers(trailers));
                self.end();
                return None;
            }
        };
        let data = match &mut self.reading {
            Some(reading) => reading.reader.push(data),
            None => data,
        };
        if self.body.is_end_stream() {
            self.end();
        }
        (!data.is_empty()).then_some(data)
    }

    fn pass(&mut self, data: Bytes) -> Frame<Bytes> {
        if !std::mem::take(&mut self.counted) {
            self.exchange.passed(data.len());
        }
        if self.state == State::Ended && self.ahead.is_empty() {
            self.exchange.completed();
        }
        Frame::data(data)
    }

    fn broke_off(&mut self, error: StreamError) -> StreamError {
        self.state = State::Ended;
        self.exchange.broke_off(error.reason());
        error
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.deadline {
            Some(deadline) => deadline.as_mut().poll(cx).is_ready(),
            None => false,
        }
    }
}

impl Body for Streaming {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        let this = &mut *self;
        loop {
            if !this.ahead.is_empty() {
                let data = std::mem::take(&mut this.ahead);
                return Poll::Ready(Some(Ok(this.pass(data))));
            }
            match this.state {
                State::Ended => return Poll::Ready(this.trailers.take().map(Ok)),
                State::Reading => {}
            }
            if this.is_late(cx) {
                return Poll::Ready(Some(Err(this.broke_off(StreamError::Timeout))));
            }
            match ready!(this.body.poll_frame(cx)) {
                None => this.end(),
                Some(Err(error)) => {
                    return Poll::Ready(Some(Err(this.broke_off(error))));
                }
                Some(Ok(frame)) => {
                    if let Some(data) = this.read(frame) {
                        return Poll::Ready(Some(Ok(this.pass(data))));
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.state == State::Ended && self.ahead.is_empty() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.state {
            State::Ended => SizeHint::with_exact(self.ahead.len() as u64),
            _ if self.reading.as_ref().is_some_and(|r| r.restores) => SizeHint::default(),
            _ => self.body.size_hint(),
        }
    }
}

impl Blame for StreamError {
    fn reason(&self) -> Reason {
        match self {
            Self::Endpoint(_) => Reason::EndpointReset,
            Self::Picker(_) => Reason::PickerFailed,
            Self::Timeout => Reason::Timeout,
        }
    }
}

// === impl ResponseBody ===

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        match &mut *self {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Streaming(stream) => Pin::new(&mut **stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Streaming(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Streaming(stream) => stream.size_hint(),
        }
    }
}
