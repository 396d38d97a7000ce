//! The request's body: streamed through, or held in memory within limits, decoded and scanned once.

mod decode;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use suimon_llm::{Fields, ScanError};
use suimon_picker::request::Body;
use suimon_telemetry::Reason;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::snapshot::Limits;
use crate::upstream::Outgoing;

pub(crate) use suimon_llm::{Budget, Share};

/// Bytes a second that a body has to arrive at, once [`Limits::body_read`] is over.
const LEAST_RATE: usize = 16 << 10;

/// Most memory that is set aside on the word of `content-length` alone.
const TRUSTED_LENGTH: usize = 1 << 20;

/// A request's body.
#[derive(Debug)]
pub(crate) struct Inbound {
    state: State,
    /// `None`: not scanned yet, or nothing there.
    fields: Option<Result<Fields, ScanError>>,
    share: Share,
}

#[derive(Debug)]
enum State {
    Unread(Incoming),
    Held {
        bytes: Bytes,
        trailers: Option<HeaderMap>,
    },
}

// === impl Inbound ===

impl Inbound {
    pub(crate) fn new(body: Incoming, share: Share) -> Self {
        let state = if body.is_end_stream() {
            State::Held {
                bytes: Bytes::new(),
                trailers: None,
            }
        } else {
            State::Unread(body)
        };
        Self {
            state,
            fields: None,
            share,
        }
    }

    /// Whether bytes of the client may still have to be read.
    pub(crate) fn is_unread(&self) -> bool {
        matches!(self.state, State::Unread(_))
    }

    /// Bytes in memory.
    pub(crate) fn held(&self) -> Option<&Bytes> {
        match &self.state {
            State::Held { bytes, .. } => Some(bytes),
            State::Unread(_) => None,
        }
    }

    /// Reads the whole body, undoes its content coding, and removes that header.
    ///
    /// # Errors
    /// Too large, too slow, an unknown coding, no memory left, or the client broke it off.
    pub(crate) async fn hold(
        &mut self,
        headers: &mut HeaderMap,
        limits: &Limits,
    ) -> Result<(), Failure> {
        let State::Unread(body) = &mut self.state else {
            return Ok(());
        };
        let coding = decode::coding(headers)?;
        if body.size_hint().lower() > limits.body_bytes as u64 {
            return Err(too_large(limits));
        }
        let (mut bytes, trailers) = read(body, &mut self.share, limits).await?;
        if let Some(coding) = coding.filter(|_| !bytes.is_empty()) {
            bytes = coding.undo(&bytes, limits.body_bytes)?;
            self.share.grow_to(bytes.len())?;
        }
        headers.remove(CONTENT_ENCODING);
        self.state = State::Held { bytes, trailers };
        Ok(())
    }

    /// Looks for the top-level fields of a held body; once is enough.
    pub(crate) fn scan(&mut self) {
        if self.fields.is_none() {
            let held = self.held().filter(|bytes| !bytes.is_empty());
            self.fields = held.map(|bytes| Fields::scan(bytes.clone()));
        }
    }

    /// What [`Inbound::scan`] found.
    pub(crate) fn scanned(&self) -> Body<'_> {
        match &self.fields {
            None => Body::Absent,
            Some(Ok(fields)) => Body::Fields(fields),
            Some(Err(error)) => Body::Invalid(error),
        }
    }

    /// Replaces the bytes that are sent on.
    pub(crate) fn replace(&mut self, with: Bytes) {
        if let State::Held { bytes, .. } = &mut self.state {
            *bytes = with;
        }
    }

    /// The body as it is sent on, and the memory that it holds.
    pub(crate) fn into_outgoing(self) -> (Outgoing, Share) {
        let outgoing = match self.state {
            State::Unread(body) => Outgoing::Passing(Some(body)),
            State::Held { bytes, trailers } => Outgoing::Kept { bytes, trailers },
        };
        (outgoing, self.share)
    }
}

async fn read(
    body: &mut Incoming,
    share: &mut Share,
    limits: &Limits,
) -> Result<(Bytes, Option<HeaderMap>), Failure> {
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut started = None;
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut trailers = None;
    loop {
        let read = first.len() + rest.len();
        let Some(frame) = next(body, read, &mut started, limits).await? else {
            break;
        };
        match frame.into_data() {
            Ok(data) => {
                if data.len() > limits.body_bytes - read {
                    return Err(too_large(limits));
                }
                share.grow_to(read + data.len())?;
                if read == 0 {
                    first = data;
                } else {
                    if rest.is_empty() {
                        rest = BytesMut::with_capacity(expected.min(TRUSTED_LENGTH).max(read));
                        rest.extend_from_slice(&std::mem::take(&mut first));
                    }
                    rest.extend_from_slice(&data);
                }
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
        if body.is_end_stream() {
            break;
        }
    }
    let bytes = if rest.is_empty() {
        first
    } else {
        rest.freeze()
    };
    Ok((bytes, trailers))
}

/// The next frame. Timers are made only when the client lets us wait.
async fn next(
    body: &mut Incoming,
    read: usize,
    started: &mut Option<Instant>,
    limits: &Limits,
) -> Result<Option<http_body::Frame<Bytes>>, Failure> {
    let now = Instant::now();
    let started = *started.get_or_insert(now);
    let earned = std::time::Duration::from_secs((read / LEAST_RATE) as u64);
    let deadline = (now + limits.body_read).min(started + limits.body_read + earned);
    match tokio::time::timeout_at(deadline, body.frame()).await {
        Ok(None) => Ok(None),
        Ok(Some(Ok(frame))) => Ok(Some(frame)),
        Ok(Some(Err(error))) => {
            tracing::debug!(%error, "request body broke off");
            Err(Failure::bad_request(
                "the request body is not valid or incomplete",
            ))
        }
        Err(_elapsed) => Err(Failure::plain(Reason::RequestTimeout)),
    }
}

fn too_large(limits: &Limits) -> Failure {
    Failure::new(
        Reason::BodyTooLarge,
        format!(
            "the request body is larger than {} bytes",
            limits.body_bytes
        ),
    )
}
