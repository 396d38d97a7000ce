//! The request as it comes in.

use std::time::Instant;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use suimon_llm::{Fields, Share};
use suimon_picker::{Subset, control, request_id};

use super::At;
use super::answer::BODY_PIECE;
use super::question::Question;
use super::refusal::Refusal;
use super::settings::Settings;
use crate::message::{BodyMode, HttpHeaders, Metadata, ProtocolConfig, Value};

/// Namespace of the metadata that names the endpoints that may be picked.
const SUBSET_NAMESPACE: &str = "envoy.lb.subset_hint";

/// Head and body, as far as they are here.
#[derive(Debug)]
pub(super) struct Intake {
    id: HeaderValue,
    /// The client sent none, or none that is sane.
    new_id: bool,
    method: Method,
    path: String,
    query: Option<String>,
    /// Without pseudo-headers and without those that clients may not set.
    headers: HeaderMap,
    /// Names of the latter.
    injected: Vec<String>,
    subset: Option<Subset>,
    received: Instant,
    /// As they came; put together once.
    frames: Vec<Bytes>,
    size: usize,
    share: Share,
}

/// What of a request has to wait for the decision.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) at: At,
    pub(super) body: Bytes,
    pub(super) injected: Vec<String>,
    /// The id, if the request has to get it.
    pub(super) new_id: Option<HeaderValue>,
    /// Whether the head says how long the body is.
    pub(super) has_length: bool,
    pub(super) grpc: bool,
    /// Chunks that came meanwhile and have to be answered.
    pub(super) owed: Owed,
    /// Bytes in memory.
    pub(super) share: Share,
}

/// Parts of a request that have to be answered after the decision.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Owed {
    /// Whether the proxy waits for the answer to each chunk.
    pub(super) each: bool,
    pub(super) bodies: usize,
    pub(super) trailers: bool,
    /// Nothing more of the request comes.
    pub(super) done: bool,
}

// === impl Intake ===

impl Intake {
    pub(super) fn new(head: &HttpHeaders, received: Instant, settings: &Settings) -> Self {
        let mut headers = HeaderMap::with_capacity(head.headers.len());
        let method = head.get(":method").map(|method| Method::from_bytes(method));
        let target = head.get(":path").map(|path| String::from_utf8_lossy(path));
        let (path, query) = match target.as_deref().unwrap_or("/").split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (target.as_deref().unwrap_or("/").to_owned(), None),
        };
        let mut injected = Vec::new();
        for header in &head.headers {
            let (Ok(name), Ok(value)) = (
                HeaderName::from_bytes(header.name.as_bytes()),
                HeaderValue::from_maybe_shared(header.value.clone()),
            ) else {
                continue;
            };
            if control::is_owned(name.as_str()) {
                if !injected.contains(&header.name) {
                    injected.push(header.name.clone());
                }
            } else {
                headers.append(name, value);
            }
        }
        let before = headers.get(request_id::HEADER).cloned();
        let id = request_id::establish(&mut headers);
        Self {
            new_id: before.as_ref() != Some(&id),
            id,
            method: method.and_then(Result::ok).unwrap_or_default(),
            path,
            query,
            headers,
            injected,
            subset: None,
            received,
            frames: Vec::new(),
            size: 0,
            share: settings.budget.share(),
        }
    }

    /// The request's id.
    pub(super) fn id(&self) -> &HeaderValue {
        &self.id
    }

    /// Whether the client speaks gRPC.
    pub(super) fn grpc(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
    }

    /// Whether the head alone says that the request cannot be taken.
    pub(super) fn check(&self, whole: bool, settings: &Settings) -> Result<(), Refusal> {
        let length = self.headers.get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > settings.body_limit) {
            return Err(Refusal::too_large(settings.body_limit));
        }
        let mut codings = self.headers.get_all(CONTENT_ENCODING).into_iter();
        let coded = codings.any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"));
        if coded && !whole {
            return Err(Refusal::encoded());
        }
        Ok(())
    }

    /// Takes the endpoints that the proxy allows, if `metadata` names any. The last word counts.
    pub(super) fn hint(&mut self, metadata: Option<&Metadata>) {
        let allowed = metadata.and_then(|m| m.get(SUBSET_NAMESPACE, control::SUBSET.as_str()));
        let mut subset = Subset::default();
        match allowed {
            Some(Value::Text(text)) => subset.allow(text),
            Some(Value::List(entries)) => {
                let entries = entries.iter().filter_map(Value::as_text);
                entries.for_each(|entry| subset.allow(entry));
            }
            _ => return,
        }
        self.subset = Some(subset);
    }

    /// Adds a chunk of the body.
    pub(super) fn push(&mut self, chunk: Bytes, settings: &Settings) -> Result<(), Refusal> {
        let size = self.size.saturating_add(chunk.len());
        if size > settings.body_limit {
            return Err(Refusal::too_large(settings.body_limit));
        }
        self.share.grow_to(size)?;
        self.size = size;
        if !chunk.is_empty() {
            self.frames.push(chunk);
        }
        Ok(())
    }

    /// The question, and what has to wait for its answer.
    pub(super) fn ask(
        self,
        at: At,
        modes: &ProtocolConfig,
        settings: &Settings,
    ) -> (Question, Pending) {
        let grpc = self.grpc();
        let body = join(self.frames, self.size);
        let pending = Pending {
            at,
            body: body.clone(),
            injected: self.injected,
            new_id: self.new_id.then(|| self.id.clone()),
            has_length: self.headers.contains_key(CONTENT_LENGTH),
            grpc,
            owed: Owed::new(at, modes),
            share: self.share,
        };
        let question = Question {
            id: self.id,
            method: self.method,
            path: self.path,
            query: self.query,
            body: body.clone(),
            headers: self.headers,
            scanned: (!body.is_empty()).then(|| Fields::scan(body)),
            subset: self.subset.filter(|_| settings.subsets),
            received: self.received,
            unreadable: settings.unreadable,
        };
        (question, pending)
    }
}

// === impl Pending ===

impl Pending {
    /// A chunk came that the proxy sends on only when it is answered.
    pub(super) fn owe_body(&mut self, end: bool) {
        if self.owed.each && !self.owed.done {
            self.owed.bodies += 1;
            self.owed.done = end;
        }
    }

    /// Trailers came that the proxy sends on only when they are answered.
    pub(super) fn owe_trailers(&mut self) {
        if !self.owed.done {
            self.owed.trailers = true;
            self.owed.done = true;
        }
    }

    /// Whether nothing of the request is left to say once it is answered.
    pub(super) fn leaves_at_once(&self) -> bool {
        self.owed.done && self.body.len() <= BODY_PIECE
    }

    /// Why the body could not be read, if the reason is that the proxy cut it.
    pub(super) fn truncation(&self) -> Option<Refusal> {
        matches!(self.at, At::Body { cut: true, .. }).then(Refusal::cut)
    }
}

// === impl Owed ===

impl Owed {
    fn new(at: At, modes: &ProtocolConfig) -> Self {
        let done = match at {
            At::Headers { whole } => whole,
            At::Body { end, .. } => end,
            At::End { .. } => true,
        };
        Self {
            each: modes.request_body == BodyMode::STREAMED,
            done,
            ..Self::default()
        }
    }
}

fn join(mut frames: Vec<Bytes>, size: usize) -> Bytes {
    if frames.len() == 1 {
        return frames.pop().unwrap_or_default();
    }
    let mut joined = BytesMut::with_capacity(size);
    for frame in frames {
        joined.extend_from_slice(&frame);
    }
    joined.freeze()
}
