//! One request as the proxy tells of it: messages in, replies out. No IO, no task, no clock.
//!
//! The walk: the head and the body come in (`intake`), the picker is asked ([`Question`]), its
//! decision becomes the reply to the headers, followed by the body (`answer`), or what went wrong
//! becomes the client's response (`refusal`). Then the response passes (`response`).
//!
//! How bodies come is up to the proxy, which says so in its first message:
//!
//! | body of the request | headers are answered | the body is answered |
//! |---|---|---|
//! | full duplex, or nothing said | when all of the request is here | at once after, in pieces |
//! | buffered, also partial | at once, with nothing | with the decision |
//! | streamed, none | with a decision by headers alone | unchanged |

mod account;
pub(crate) mod answer;
mod intake;
mod question;
pub(crate) mod refusal;
pub(crate) mod response;
mod settings;

use std::sync::Arc;
use std::time::Instant;

use suimon_picker::{Decision, PickError};
use suimon_telemetry::Reason;

use crate::message::{
    BodyMode, CommonResponse, HeaderMutation, HttpBody, HttpHeaders, ImmediateResponse, Metadata,
    Part, ProcessingRequest, ProcessingResponse, ProtocolConfig, Reply,
};
use account::Account;
use intake::{Intake, Pending};
use refusal::Refusal;
use response::Response;

pub use account::{Ended, Observer, Silent};
pub use answer::BODY_PIECE;
pub use question::Question;
pub use settings::{Destinations, Reading, Settings};

/// What the session of one stream knows.
#[derive(Debug)]
pub struct Session {
    settings: Arc<Settings>,
    modes: ProtocolConfig,
    phase: Phase,
    account: Account,
}

/// What has to happen now.
#[derive(Debug)]
#[must_use]
pub enum Next {
    /// Nothing before the next message, other than sending what was replied.
    Wait,
    /// Ask the picker, and tell [`Session::picked`]. Messages may come meanwhile.
    Pick(Box<Question>),
    /// Send what was replied, then end the stream as having gone well.
    End,
    /// End the stream with an error: the peer does what this version does not know.
    Unsupported(&'static str),
}

/// Replies in the order in which they are sent. What was sent is removed by whoever sends it.
pub type Replies = Vec<ProcessingResponse>;

#[derive(Debug)]
enum Phase {
    /// Nothing has come.
    Begin,
    /// The request comes in.
    Request(Box<Intake>),
    /// The picker is asked.
    Picking(Box<Pending>),
    /// The request was answered, or is none of ours; the response passes.
    Response(Box<Response>),
    /// Nothing more is said.
    Ended,
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
            account: Account::default(),
        }
    }

    /// Takes a message that came at `now`.
    pub fn on(&mut self, message: ProcessingRequest, now: Instant, out: &mut Replies) -> Next {
        if let (Some(modes), Phase::Begin) = (message.protocol, &self.phase) {
            self.modes = modes;
        }
        if message.observability {
            return Next::Wait;
        }
        let metadata = message.metadata.as_ref();
        match message.part {
            None => Next::Wait,
            Some(Part::RequestHeaders(head)) => self.request_headers(&head, metadata, now, out),
            Some(Part::RequestBody(body)) => self.request_body(body, metadata, now, out),
            Some(Part::RequestTrailers(_)) => self.request_trailers(metadata, now, out),
            Some(Part::ResponseHeaders(head)) => self.response_headers(&head, metadata, out),
            Some(Part::ResponseBody(body)) => self.response_body(body, now, out),
            Some(Part::ResponseTrailers(_)) => self.response_trailers(out),
        }
    }

    /// Takes what the picker decided at `now`. If the exchange has gone on without it, the decision
    /// is dropped, and its in-flight share with it.
    pub fn picked(
        &mut self,
        decided: Result<Decision, PickError>,
        now: Instant,
        out: &mut Replies,
    ) -> Next {
        if !matches!(self.phase, Phase::Picking(_)) {
            return Next::Wait;
        }
        let Phase::Picking(pending) = std::mem::replace(&mut self.phase, Phase::Ended) else {
            return Next::Wait;
        };
        self.account.picked(now);
        let refusal = match decided {
            Ok(decision) if !decision.endpoints.is_empty() => {
                return self.answer(*pending, decision, out);
            }
            Ok(_) => Refusal::pick(&PickError::NoEndpoints),
            Err(PickError::Answered(answer)) => {
                let immediate = refusal::direct(&answer, self.account.id(), pending.grpc);
                self.account.refused(Reason::PickerAnswered);
                self.account.answered(answer.status.as_u16());
                return end_with(immediate, out);
            }
            Err(error) => pending
                .truncation()
                .unwrap_or_else(|| Refusal::pick(&error)),
        };
        self.refuse(&refusal, pending.grpc, out)
    }

    /// Whether a request has begun.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Begin)
    }

    /// Whether a decision is waited for. It no longer is once the exchange has gone on without one.
    #[must_use]
    pub fn is_picking(&self) -> bool {
        matches!(self.phase, Phase::Picking(_))
    }

    /// Takes that a message is longer than may be read.
    pub fn too_long(&mut self, limit: usize, out: &mut Replies) -> Next {
        let grpc = match &self.phase {
            Phase::Begin => false,
            Phase::Request(intake) => intake.grpc(),
            Phase::Picking(_) | Phase::Response(_) | Phase::Ended => {
                return Next::Unsupported("a message is longer than the limit");
            }
        };
        self.refuse(&Refusal::too_large(limit), grpc, out)
    }

    /// Closes the account at `now`: the in-flight share is given back and the decision's record is
    /// completed. Dropping the session gives the share back too. `None`: there was no request.
    pub fn close(&mut self, now: Instant) -> Option<Ended<'_>> {
        if let Phase::Response(response) = &self.phase {
            self.account.read(response);
        }
        self.phase = Phase::Ended;
        self.account.close(now)
    }

    fn request_headers(
        &mut self,
        head: &HttpHeaders,
        metadata: Option<&Metadata>,
        now: Instant,
        out: &mut Replies,
    ) -> Next {
        if !matches!(self.phase, Phase::Begin) {
            return Next::Wait;
        }
        let mut intake = Box::new(Intake::new(head, now, &self.settings));
        self.account.open(intake.id(), now);
        intake.hint(metadata);
        if let Err(refusal) = intake.check(head.end_of_stream, &self.settings) {
            return self.refuse(&refusal, intake.grpc(), out);
        }
        if head.end_of_stream {
            return self.ask(*intake, At::Headers { whole: true }, now);
        }
        match self.modes.request_body {
            BodyMode::FULL_DUPLEX_STREAMED => {}
            BodyMode::BUFFERED | BodyMode::BUFFERED_PARTIAL => {
                let nothing = CommonResponse::default();
                out.push(ProcessingResponse::of(Reply::RequestHeaders(nothing)));
            }
            BodyMode::NONE | BodyMode::STREAMED => {
                return self.ask(*intake, At::Headers { whole: false }, now);
            }
            _ => return self.unsupported("the mode of the request body is not known"),
        }
        self.phase = Phase::Request(intake);
        Next::Wait
    }

    fn request_body(
        &mut self,
        body: HttpBody,
        metadata: Option<&Metadata>,
        now: Instant,
        out: &mut Replies,
    ) -> Next {
        let end = body.end_of_stream;
        match &mut self.phase {
            Phase::Begin => return self.unsupported("the request's headers are not sent"),
            Phase::Request(intake) => {
                intake.hint(metadata);
                if let Err(refusal) = intake.push(body.body, &self.settings) {
                    let grpc = intake.grpc();
                    return self.refuse(&refusal, grpc, out);
                }
            }
            Phase::Picking(pending) => {
                pending.owe_body(end);
                return Next::Wait;
            }
            Phase::Response(response) => {
                response.request_body(end, out);
                return Next::Wait;
            }
            Phase::Ended => return Next::Wait,
        }
        let at = match self.modes.request_body {
            BodyMode::FULL_DUPLEX_STREAMED if end => At::End { trailers: false },
            BodyMode::FULL_DUPLEX_STREAMED => return Next::Wait,
            BodyMode::BUFFERED_PARTIAL => At::Body { end, cut: !end },
            _ => At::Body { end, cut: false },
        };
        self.ask_kept(at, now)
    }

    fn request_trailers(
        &mut self,
        metadata: Option<&Metadata>,
        now: Instant,
        out: &mut Replies,
    ) -> Next {
        match &mut self.phase {
            Phase::Request(intake) => intake.hint(metadata),
            Phase::Picking(pending) => {
                pending.owe_trailers();
                return Next::Wait;
            }
            Phase::Response(response) => {
                response.request_trailers(out);
                return Next::Wait;
            }
            Phase::Begin => return self.unsupported("the request's headers are not sent"),
            Phase::Ended => return Next::Wait,
        }
        if self.modes.request_body == BodyMode::FULL_DUPLEX_STREAMED {
            return self.ask_kept(At::End { trailers: true }, now);
        }
        // The headers were answered in the hope of a body; nothing but a body could still be routed.
        let Phase::Request(intake) = &self.phase else {
            return Next::Wait;
        };
        let grpc = intake.grpc();
        self.refuse(&Refusal::bodiless(), grpc, out)
    }

    fn response_headers(
        &mut self,
        head: &HttpHeaders,
        metadata: Option<&Metadata>,
        out: &mut Replies,
    ) -> Next {
        let Some(response) = self.passing() else {
            return Next::Wait;
        };
        let end = response.headers(head, metadata, out);
        self.account.answered(response_status(head));
        self.end_if(end)
    }

    fn response_body(&mut self, body: HttpBody, now: Instant, out: &mut Replies) -> Next {
        let bytes = body.body.len();
        let Some(response) = self.passing() else {
            return Next::Wait;
        };
        let end = response.body(body, out);
        self.account.passed(bytes, now);
        self.end_if(end)
    }

    fn response_trailers(&mut self, out: &mut Replies) -> Next {
        let Some(response) = self.passing() else {
            return Next::Wait;
        };
        response.trailers(out);
        self.end_if(true)
    }

    /// The response that passes. One that comes before the request was answered is the proxy's own:
    /// what was known of the request is dropped.
    fn passing(&mut self) -> Option<&mut Response> {
        if matches!(
            self.phase,
            Phase::Begin | Phase::Request(_) | Phase::Picking(_)
        ) {
            self.phase = Phase::Response(Box::new(Response::foreign(&self.modes)));
        }
        match &mut self.phase {
            Phase::Response(response) => Some(response),
            _ => None,
        }
    }

    fn end_if(&mut self, end: bool) -> Next {
        if !end {
            return Next::Wait;
        }
        if let Phase::Response(response) = std::mem::replace(&mut self.phase, Phase::Ended) {
            self.account.read(&response);
            self.account.completed();
        }
        Next::End
    }

    fn ask_kept(&mut self, at: At, now: Instant) -> Next {
        match std::mem::replace(&mut self.phase, Phase::Ended) {
            Phase::Request(intake) => self.ask(*intake, at, now),
            other => {
                self.phase = other;
                Next::Wait
            }
        }
    }

    fn ask(&mut self, intake: Intake, at: At, now: Instant) -> Next {
        let (question, pending) = intake.ask(at, &self.modes, &self.settings);
        self.account.asked(pending.body.len(), now);
        self.phase = Phase::Picking(Box::new(pending));
        Next::Pick(Box::new(question))
    }

    fn answer(&mut self, pending: Pending, decision: Decision, out: &mut Replies) -> Next {
        let skips = self.settings.reading == Reading::Skip && pending.leaves_at_once();
        let response = answer::answer(pending, decision, &self.settings, &self.modes, out);
        self.account.decided(&response);
        self.phase = Phase::Response(Box::new(response));
        if skips {
            return self.end_if(true);
        }
        Next::Wait
    }

    fn refuse(&mut self, refusal: &Refusal, grpc: bool, out: &mut Replies) -> Next {
        self.phase = Phase::Ended;
        self.account.refused(refusal.reason);
        let immediate = refusal.response(self.account.id(), grpc);
        end_with(immediate, out)
    }

    fn unsupported(&mut self, why: &'static str) -> Next {
        self.phase = Phase::Ended;
        self.account.refused(Reason::BadRequest);
        Next::Unsupported(why)
    }
}

/// When the picker is asked, which says what carries the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// With the head; `whole`: the request has no more.
    Headers { whole: bool },
    /// With a body that the proxy holds; `end`: no trailers follow; `cut`: there may be more of it.
    Body { end: bool, cut: bool },
    /// With the last of the request, which the proxy gave away.
    End { trailers: bool },
}

/// Answers the client, which ends the exchange.
fn end_with(immediate: ImmediateResponse, out: &mut Replies) -> Next {
    out.push(ProcessingResponse::of(Reply::Immediate(immediate)));
    Next::End
}

/// The reply to trailers: they stay as they are.
pub(crate) fn trailers_reply() -> HeaderMutation {
    HeaderMutation::default()
}

/// `:status`; 0 if there is none that is a number.
fn response_status(head: &HttpHeaders) -> u16 {
    let status = head.get(":status");
    status
        .and_then(|value| std::str::from_utf8(value).ok())
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}
