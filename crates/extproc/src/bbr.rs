//! Body-based routing: the model that a request's body names goes into headers, so that the routes of
//! other people's gateways can match it. Messages in, replies out; no IO, no task, no clock.
//!
//! | file | what |
//! |---|---|
//! | `bbr/head` | what the head says: whether the body is read, what a client may not send |
//! | `bbr/body` | the body as it comes in, and the model in it |
//! | `bbr/passing` | what passes untouched: bodies that are not read, and responses |
//! | `bbr/base_models` | adapters to base models |
//! | `bbr/processor` | sessions for the server |
//!
//! How the proxy sends bodies decides what carries the headers:
//!
//! | body of the request | headers are answered | the body is answered |
//! |---|---|---|
//! | full duplex, or nothing said | when the body is complete, with the model | at once after, in pieces |
//! | buffered, also partial | at once | with the model |
//! | streamed, none | at once; no model can be read before the route is chosen | unchanged |
//!
//! The stream ends with the answer to the request where nothing can be lost by it: no body was given
//! away, or all of it comes back in one piece. An early response would otherwise be on its way here.

mod base_models;
mod body;
mod head;
mod passing;
mod processor;
mod settings;

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use suimon_llm::Share;
use suimon_telemetry::Reason;

use crate::message::{
    BodyMode, CommonResponse, HttpBody, HttpHeaders, Part, ProcessingRequest, ProcessingResponse,
    ProtocolConfig, Reply,
};
use crate::session::answer::{BODY_PIECE, pieces};
use crate::session::refusal::Refusal;
use crate::session::{Next, Replies, trailers_reply};
use body::{Body, Model, Nameless};
use head::Head;
use passing::Passing;

pub use base_models::{BaseModels, Conflict};
pub use processor::{Bbr, Observer};
pub use settings::Settings;

/// The model that the body names.
pub const MODEL: &str = "x-gateway-model-name";

/// The base model of an adapter, or the base model itself; empty for one that is not known.
pub const BASE_MODEL: &str = "x-gateway-base-model-name";

/// What the session of one stream knows.
#[derive(Debug)]
pub struct Session {
    settings: Arc<Settings>,
    modes: ProtocolConfig,
    phase: Phase,
    /// Of a request that could be refused.
    id: HeaderValue,
    grpc: bool,
    /// Bytes of the request in memory: they may not have left before there is a response.
    share: Option<Share>,
    ended: Option<Ended>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// What was found.
    pub found: Found,
    /// Why the client was refused.
    pub reason: Option<Reason>,
}

/// What was found in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A model; the headers are set.
    Model,
    /// A body without a model.
    NoModel,
    /// A model that is empty.
    EmptyModel,
    /// A body or a model that cannot be read, or that is too large.
    Unreadable,
    /// Nothing to read: no body, a method without one, a form, a body in another encoding.
    Nothing,
    /// A body that the proxy does not send, or only after the route was chosen.
    Unseen,
}

#[derive(Debug)]
enum Phase {
    /// Nothing has come.
    Begin,
    /// The body comes in.
    Reading(Box<Head>, Body),
    /// The request was answered, or is none of ours.
    Passing(Box<Passing>),
    /// Nothing more is said.
    Ended,
}

/// What carries the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The answer to a body that the proxy holds; `end`: no trailers follow; `cut`: it may go on.
    Body { end: bool, cut: bool },
    /// The answer to the head of a request that the proxy has given away.
    End { trailers: bool },
}

// === impl Session ===

impl Session {
    /// The session of a stream that has just been opened.
    #[must_use]
    pub fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            modes: ProtocolConfig {
                request_body: BodyMode::FULL_DUPLEX_STREAMED,
                response_body: BodyMode::FULL_DUPLEX_STREAMED,
                body_without_waiting: false,
            },
            phase: Phase::Begin,
            id: HeaderValue::from_static(""),
            grpc: false,
            share: None,
            ended: None,
        }
    }

    /// Takes a message.
    pub fn on(&mut self, message: ProcessingRequest, out: &mut Replies) -> Next {
        if let (Some(modes), Phase::Begin) = (message.protocol, &self.phase) {
            self.modes = modes;
        }
        if message.observability {
            return Next::Wait;
        }
        match message.part {
            None => Next::Wait,
            Some(Part::RequestHeaders(head)) => self.request_headers(&head, out),
            Some(Part::RequestBody(body)) => self.request_body(body, out),
            Some(Part::RequestTrailers(_)) => self.request_trailers(out),
            Some(part) => self.response(part, out),
        }
    }

    /// Takes that a message is longer than may be read.
    pub fn too_long(&mut self, limit: usize, out: &mut Replies) -> Next {
        match &self.phase {
            Phase::Begin | Phase::Reading(..) => {
                self.refuse(Found::Unreadable, &Refusal::too_large(limit), out)
            }
            Phase::Passing(_) | Phase::Ended => {
                Next::Unsupported("a message is longer than the limit")
            }
        }
    }

    /// Whether a request has begun.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Begin)
    }

    /// What became of the request, once that is known.
    #[must_use]
    pub const fn ended(&self) -> Option<Ended> {
        self.ended
    }

    fn request_headers(&mut self, head: &HttpHeaders, out: &mut Replies) -> Next {
        if !matches!(self.phase, Phase::Begin) {
            return Next::Wait;
        }
        let whole = head.end_of_stream;
        let head = Head::of(head);
        (self.id, self.grpc) = (head.id.clone(), head.grpc);
        if whole || !head.may_name_a_model() {
            return self.pass(&head, whole, Found::Nothing, out);
        }
        let mode = self.modes.request_body;
        if let Err(refusal) = head.check(&self.settings) {
            return match self.settings.strict || refusal.reason == Reason::BodyTooLarge {
                true => self.refuse(Found::Unreadable, &refusal, out),
                false => self.pass(&head, false, Found::Nothing, out),
            };
        }
        match mode {
            BodyMode::FULL_DUPLEX_STREAMED => {}
            BodyMode::BUFFERED | BodyMode::BUFFERED_PARTIAL => {
                out.push(head.answer(CommonResponse::default()));
            }
            BodyMode::NONE | BodyMode::STREAMED if self.settings.strict => {
                return self
                    .unsupported(Found::Unseen, "the mode of the request body shows no model");
            }
            BodyMode::NONE | BodyMode::STREAMED => {
                return self.pass(&head, false, Found::Unseen, out);
            }
            _ => {
                return self
                    .unsupported(Found::Unseen, "the mode of the request body is not known");
            }
        }
        let body = Body::new(&self.settings);
        self.phase = Phase::Reading(Box::new(head), body);
        Next::Wait
    }

    fn request_body(&mut self, chunk: HttpBody, out: &mut Replies) -> Next {
        let end = chunk.end_of_stream;
        match &mut self.phase {
            Phase::Begin => {
                return self.unsupported(Found::Nothing, "the request's headers are not sent");
            }
            Phase::Reading(_, body) => {
                if let Err(refusal) = body.push(chunk.body, &self.settings) {
                    return self.refuse(Found::Unreadable, &refusal, out);
                }
            }
            Phase::Passing(passing) => {
                if !passing.request_body(chunk, out) {
                    return Next::Wait;
                }
                self.phase = Phase::Ended;
                return Next::End;
            }
            Phase::Ended => return Next::Wait,
        }
        match self.modes.request_body {
            BodyMode::FULL_DUPLEX_STREAMED if end => self.decide(At::End { trailers: false }, out),
            BodyMode::FULL_DUPLEX_STREAMED => Next::Wait,
            mode => {
                let cut = mode == BodyMode::BUFFERED_PARTIAL && !end;
                self.decide(At::Body { end, cut }, out)
            }
        }
    }

    fn request_trailers(&mut self, out: &mut Replies) -> Next {
        match &mut self.phase {
            Phase::Begin => self.unsupported(Found::Nothing, "the request's headers are not sent"),
            Phase::Reading(..) if self.modes.request_body == BodyMode::FULL_DUPLEX_STREAMED => {
                self.decide(At::End { trailers: true }, out)
            }
            Phase::Reading(..) => {
                // The head was answered in the hope of a body.
                self.ended_with(Found::Nothing);
                self.phase = Phase::Passing(Passing::boxed(&self.modes, false));
                out.push(ProcessingResponse::of(Reply::RequestTrailers(
                    trailers_reply(),
                )));
                Next::Wait
            }
            Phase::Passing(passing) => {
                passing.request_trailers(out);
                Next::Wait
            }
            Phase::Ended => Next::Wait,
        }
    }

    /// A part of the response. One that comes before the request was answered is the proxy's own: what
    /// was known of the request is dropped.
    fn response(&mut self, part: Part, out: &mut Replies) -> Next {
        if matches!(self.phase, Phase::Begin | Phase::Reading(..)) {
            self.phase = Phase::Passing(Passing::boxed(&self.modes, false));
        }
        self.share = None;
        let Phase::Passing(passing) = &mut self.phase else {
            return Next::Wait;
        };
        if passing.response(part, out) {
            self.phase = Phase::Ended;
            return Next::End;
        }
        Next::Wait
    }

    /// Lets the request go on as it is; `whole`: it has no more.
    fn pass(&mut self, head: &Head, whole: bool, found: Found, out: &mut Replies) -> Next {
        self.ended_with(found);
        out.push(head.answer(CommonResponse::default()));
        if whole || self.modes.request_body == BodyMode::NONE {
            self.phase = Phase::Ended;
            return Next::End;
        }
        self.phase = Phase::Passing(Passing::boxed(&self.modes, true));
        Next::Wait
    }

    /// The body is as complete as it gets.
    fn decide(&mut self, at: At, out: &mut Replies) -> Next {
        let phase = std::mem::replace(&mut self.phase, Phase::Ended);
        let Phase::Reading(head, body) = phase else {
            self.phase = phase;
            return Next::Wait;
        };
        let (bytes, share) = body.finish();
        self.share = Some(share);
        let common = match self.common(bytes.clone(), at) {
            Ok(common) => common,
            Err((found, refusal)) => return self.refuse(found, &refusal, out),
        };
        let at_once = match at {
            At::Body { end, .. } => end,
            At::End { .. } => bytes.len() <= BODY_PIECE,
        };
        answer(at, &head, common, bytes, out);
        if at_once {
            return Next::End;
        }
        let open = matches!(at, At::Body { end: false, .. });
        self.phase = Phase::Passing(Passing::boxed(&self.modes, open));
        Next::Wait
    }

    /// What is said to a request with this body, or why it is refused.
    fn common(&mut self, body: Bytes, at: At) -> Result<CommonResponse, (Found, Refusal)> {
        let mut common = CommonResponse::default();
        match Model::read(body) {
            Ok(model) => {
                self.ended_with(Found::Model);
                common.clear_route_cache = true;
                model.set(&self.settings.models.load(), &mut common.headers);
            }
            Err(nameless) => {
                if let Some(refusal) = self.refusal(&nameless, at) {
                    return Err((nameless.found(), refusal));
                }
                self.ended_with(nameless.found());
            }
        }
        Ok(common)
    }

    /// Why a request without a model goes nowhere, if that is so.
    fn refusal(&self, nameless: &Nameless, at: At) -> Option<Refusal> {
        if !self.settings.strict {
            return None;
        }
        if matches!(at, At::Body { cut: true, .. }) {
            return Some(Refusal::cut());
        }
        nameless.refusal()
    }

    fn refuse(&mut self, found: Found, refusal: &Refusal, out: &mut Replies) -> Next {
        self.phase = Phase::Ended;
        self.ended = Some(Ended {
            found,
            reason: Some(refusal.reason),
        });
        let id = self.id.to_str().unwrap_or_default();
        let immediate = refusal.response(id, self.grpc);
        out.push(ProcessingResponse::of(Reply::Immediate(immediate)));
        Next::End
    }

    fn unsupported(&mut self, found: Found, why: &'static str) -> Next {
        self.phase = Phase::Ended;
        self.ended = Some(Ended {
            found,
            reason: Some(Reason::BadRequest),
        });
        Next::Unsupported(why)
    }

    fn ended_with(&mut self, found: Found) {
        self.ended = Some(Ended {
            found,
            reason: None,
        });
    }
}

/// Puts `common` on what carries it, followed by what the proxy has given away.
fn answer(at: At, head: &Head, common: CommonResponse, body: Bytes, out: &mut Replies) {
    let At::End { trailers } = at else {
        out.push(ProcessingResponse::of(Reply::RequestBody(common)));
        return;
    };
    out.push(head.answer(common));
    if !(trailers && body.is_empty()) {
        pieces(body, !trailers, Reply::RequestBody, out);
    }
    if trailers {
        let reply = Reply::RequestTrailers(trailers_reply());
        out.push(ProcessingResponse::of(reply));
    }
}
