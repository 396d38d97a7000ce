//! The response as it passes: read, and the model's name put back.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use smallvec::SmallVec;
use suimon_llm::{ApiKind, ResponseReader, Restore, Share};
use suimon_picker::{Decision, Endpoint, InFlight, ModelNames, control, record::Record};

use super::answer::pieces;
use super::intake::Owed;
use super::settings::{Reading, Settings};
use super::{Replies, trailers_reply};
use crate::message::{
    BodyMode, BodyMutation, CommonResponse, HttpBody, HttpHeaders, Metadata, ProcessingResponse,
    ProtocolConfig, Reply, Value,
};

/// Namespace of the metadata that load balancing reads and writes.
pub(super) const LOAD_BALANCING: &str = "envoy.lb";

/// A response that passes.
#[derive(Debug)]
pub(crate) struct Response {
    mode: BodyMode,
    owed: Owed,
    /// `None`: not an endpoint's, or of no interest.
    route: Option<Route>,
    reader: Option<Reader>,
    body_limit: usize,
    /// Bytes of the request in memory: they may not have left before there is a response.
    request: Option<Share>,
}

/// What of a decision the way back needs.
#[derive(Debug)]
pub(super) struct Route {
    endpoints: SmallVec<[Arc<Endpoint>; 4]>,
    pub(super) in_flight: InFlight,
    pub(super) model: ModelNames,
    pub(super) priority: i32,
    pub(super) record: Option<Arc<Record>>,
    api: ApiKind,
    restore: Option<Restore>,
    reads: bool,
}

#[derive(Debug)]
pub(super) struct Reader {
    pub(super) reader: ResponseReader,
    pub(super) sse: bool,
    restores: bool,
}

// === impl Response ===

impl Response {
    /// One that no decision of ours led to.
    pub(crate) fn foreign(modes: &ProtocolConfig) -> Self {
        Self {
            mode: modes.response_body,
            owed: Owed {
                done: true,
                ..Owed::default()
            },
            route: None,
            reader: None,
            body_limit: 0,
            request: None,
        }
    }

    /// The one that `decision` leads to.
    pub(super) fn of(
        decision: Decision,
        restore: Option<Restore>,
        settings: &Settings,
        modes: &ProtocolConfig,
        (owed, share): (Owed, Share),
    ) -> Self {
        Self {
            mode: modes.response_body,
            owed,
            route: Some(Route {
                endpoints: decision.endpoints,
                in_flight: decision.in_flight,
                model: decision.model,
                priority: decision.priority,
                record: decision.record,
                api: decision.api,
                restore,
                reads: settings.reading == Reading::Read,
            }),
            reader: None,
            body_limit: settings.body_limit,
            request: Some(share),
        }
    }

    /// The decision that led to it.
    pub(super) fn route(&self) -> Option<&Route> {
        self.route.as_ref()
    }

    /// What reads it.
    pub(super) fn reader(&self) -> Option<&Reader> {
        self.reader.as_ref()
    }

    /// A chunk of the request that comes after its headers were answered.
    pub(super) fn request_body(&mut self, end: bool, out: &mut Replies) {
        if self.owed.each && !self.owed.done {
            self.owed.done = end;
            self.request_body_now(out);
        }
    }

    /// Answers a chunk of the request: it stays as it is.
    pub(super) fn request_body_now(&self, out: &mut Replies) {
        let nothing = CommonResponse::default();
        out.push(ProcessingResponse::of(Reply::RequestBody(nothing)));
    }

    /// Trailers of the request that come after its headers were answered.
    pub(super) fn request_trailers(&mut self, out: &mut Replies) {
        if !self.owed.done {
            self.owed.done = true;
            let reply = Reply::RequestTrailers(trailers_reply());
            out.push(ProcessingResponse::of(reply));
        }
    }

    /// The head. Gives whether that was all.
    pub(crate) fn headers(
        &mut self,
        head: &HttpHeaders,
        metadata: Option<&Metadata>,
        out: &mut Replies,
    ) -> bool {
        self.owed.done = true;
        self.request = None;
        if let Some(route) = &mut self.route {
            route.served(metadata);
            if !head.end_of_stream {
                self.reader = route.reader(head, self.mode, self.body_limit);
            }
        }
        let mut common = CommonResponse::default();
        let restores = self.reader.as_ref().is_some_and(|reader| reader.restores);
        if restores && self.mode == BodyMode::FULL_DUPLEX_STREAMED {
            // The length changes with the name.
            common.headers.remove(CONTENT_LENGTH.as_str());
        }
        out.push(ProcessingResponse::of(Reply::ResponseHeaders(common)));
        head.end_of_stream
    }

    /// The body or a chunk of it. Gives whether that was all.
    pub(crate) fn body(&mut self, body: HttpBody, out: &mut Replies) -> bool {
        let end = body.end_of_stream;
        match self.mode {
            BodyMode::FULL_DUPLEX_STREAMED => self.chunk(body, out),
            BodyMode::BUFFERED => self.whole(&body.body, out),
            _ => {
                // Chunks are answered one by one, so none can be held until a name is complete.
                if let Some(reader) = &mut self.reader {
                    let _unchanged = reader.read(body.body, end);
                }
                let nothing = CommonResponse::default();
                out.push(ProcessingResponse::of(Reply::ResponseBody(nothing)));
            }
        }
        end
    }

    /// Trailers, which end the response.
    pub(crate) fn trailers(&mut self, out: &mut Replies) {
        let held = self.reader.as_mut().map(|reader| reader.reader.finish());
        if let Some(held) = held.filter(|held| !held.is_empty())
            && self.mode == BodyMode::FULL_DUPLEX_STREAMED
        {
            pieces(held, false, Reply::ResponseBody, out);
        }
        let reply = Reply::ResponseTrailers(trailers_reply());
        out.push(ProcessingResponse::of(reply));
    }

    /// Sends a chunk on.
    fn chunk(&mut self, body: HttpBody, out: &mut Replies) {
        let end = body.end_of_stream;
        let data = match &mut self.reader {
            Some(reader) => reader.read(body.body, end),
            None => body.body,
        };
        if !data.is_empty() {
            pieces(data, end, Reply::ResponseBody, out);
        } else if end && !end_last(out) {
            pieces(data, true, Reply::ResponseBody, out);
        }
    }

    /// Answers a body that the proxy holds.
    fn whole(&mut self, body: &Bytes, out: &mut Replies) {
        let mut common = CommonResponse::default();
        if let Some(reader) = &mut self.reader {
            let read = reader.read(body.clone(), true);
            if reader.restores && read != *body {
                let length = read.len().to_string();
                common.headers.set(CONTENT_LENGTH.as_str(), length);
                common.body = Some(BodyMutation::Replace(read));
            }
        }
        out.push(ProcessingResponse::of(Reply::ResponseBody(common)));
    }
}

/// Ends the body with the reply before, if that has not been sent yet and is a piece of it.
fn end_last(out: &mut Replies) -> bool {
    let Some(Reply::ResponseBody(common)) = out.last_mut().and_then(|last| last.reply.as_mut())
    else {
        return false;
    };
    let Some(BodyMutation::Streamed(chunk)) = &mut common.body else {
        return false;
    };
    chunk.end_of_stream = true;
    true
}

// === impl Route ===

impl Route {
    /// The endpoint that is counted.
    pub(super) fn endpoint(&self) -> Option<&Arc<Endpoint>> {
        self.in_flight.endpoint().or_else(|| self.endpoints.first())
    }

    /// Takes the proxy's word for which endpoint answered.
    fn served(&mut self, metadata: Option<&Metadata>) {
        let served = metadata.and_then(|m| m.get(LOAD_BALANCING, control::SERVED.as_str()));
        let Some(served) = served.and_then(Value::as_text) else {
            return;
        };
        let Ok(address) = served.trim().parse::<SocketAddr>() else {
            return;
        };
        let mut endpoints = self.endpoints.iter();
        let Some(endpoint) = endpoints.find(|endpoint| endpoint.address() == address) else {
            return;
        };
        let counted = self.in_flight.endpoint();
        if counted.is_some_and(|counted| !Arc::ptr_eq(counted, endpoint)) {
            self.in_flight.move_to(endpoint);
        }
    }

    /// How to read the response's body: by what it is, never by what was asked for.
    fn reader(&self, head: &HttpHeaders, mode: BodyMode, limit: usize) -> Option<Reader> {
        if !self.reads && self.restore.is_none() || head.get(CONTENT_ENCODING.as_str()).is_some() {
            return None;
        }
        let kind = head.get(CONTENT_TYPE.as_str())?;
        let kind = kind.split(|byte| *byte == b';').next()?.trim_ascii();
        if !self.api.answers_with(kind) {
            return None;
        }
        let sse = kind.eq_ignore_ascii_case(b"text/event-stream");
        let whole = [BodyMode::FULL_DUPLEX_STREAMED, BodyMode::BUFFERED].contains(&mode);
        let restore = self.restore.clone().filter(|_| whole);
        Some(Reader {
            restores: restore.is_some(),
            sse,
            reader: ResponseReader::new(self.api, sse, restore).with_limit(limit),
        })
    }
}

// === impl Reader ===

impl Reader {
    /// What is to be sent on.
    fn read(&mut self, chunk: Bytes, end: bool) -> Bytes {
        let passed = self.reader.push(chunk);
        if !end {
            return passed;
        }
        let rest = self.reader.finish();
        if rest.is_empty() {
            return passed;
        }
        if passed.is_empty() {
            return rest;
        }
        let mut both = BytesMut::with_capacity(passed.len() + rest.len());
        both.extend_from_slice(&passed);
        both.extend_from_slice(&rest);
        both.freeze()
    }
}
