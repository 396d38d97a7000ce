//! The request phase: what the picker has said so far.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use suimon_picker::{DirectAnswer, control};

use super::call::Call;
use super::echo::Echo;
use super::edit;
use super::error::ClientError;
use super::head::NAMESPACE;
use crate::message::{
    BodyMutation, CommonResponse, HeaderMutation, ImmediateResponse, ProcessingResponse, Reply,
    ReplyStatus, Struct, Value,
};

/// What the picker has said of a request, until that is enough.
#[derive(Debug)]
pub(super) struct Asking {
    changes: HeaderMutation,
    /// The pick, where it came as metadata.
    metadata: Option<String>,
    /// The head was answered.
    head: bool,
    echo: Echo,
    /// What came back of the body.
    back: Vec<Bytes>,
    back_len: usize,
    /// Nothing more of the body comes back.
    done: bool,
}

/// What the picker wants.
#[derive(Debug)]
pub(super) enum Asked {
    /// The client is answered by the picker itself.
    Answered(Box<DirectAnswer>),
    /// The request goes on.
    Chosen(Chosen),
}

/// How a request goes on.
#[derive(Debug)]
pub(super) struct Chosen {
    /// `ip:port`, or several with commas.
    pub(super) destination: String,
    pub(super) changes: HeaderMutation,
    /// The body, if it is another one now.
    pub(super) body: Option<Bytes>,
    /// The stream, while the picker keeps it open to hear of the response.
    pub(super) call: Option<Box<Call>>,
}

/// Most bytes of a body that are taken in place of the client's.
const LONGEST: usize = 64 << 20;

// === impl Asking ===

impl Asking {
    /// The request's body is `body`.
    pub(super) fn new(body: Bytes) -> Self {
        let mut echo = Echo::default();
        let done = body.is_empty();
        echo.sent(body);
        Self {
            changes: HeaderMutation::default(),
            metadata: None,
            head: false,
            echo,
            back: Vec::new(),
            back_len: 0,
            done,
        }
    }

    /// Takes what the picker said, `None` being that it ended the stream. Gives what it wants once
    /// that is known.
    ///
    /// # Errors
    /// It broke the protocol, or ended without a pick.
    pub(super) fn on(
        &mut self,
        said: Option<ProcessingResponse>,
    ) -> Result<Option<Asked>, ClientError> {
        let Some(said) = said else {
            return self.ended().map(Some);
        };
        self.note(said.dynamic_metadata.as_ref());
        match said.reply {
            Some(Reply::Immediate(answer)) => {
                return Ok(Some(Asked::Answered(Box::new(direct(answer)))));
            }
            Some(Reply::RequestHeaders(_)) if self.head => {
                return Err(ClientError::Protocol("it answered the head twice"));
            }
            Some(Reply::RequestHeaders(common)) => {
                self.head = true;
                if common.status == ReplyStatus::CONTINUE_AND_REPLACE {
                    self.body(common.body)?;
                    self.done = true;
                }
                self.change(common.headers);
            }
            Some(Reply::RequestBody(CommonResponse { headers, body, .. })) => {
                self.body(body)?;
                self.change(headers);
            }
            Some(
                Reply::ResponseHeaders(_) | Reply::ResponseBody(_) | Reply::ResponseTrailers(_),
            ) => {
                return Err(ClientError::Protocol(
                    "it answered a response before there was one",
                ));
            }
            Some(Reply::RequestTrailers(_)) | None => {}
        }
        if !self.head || !self.done {
            return Ok(None);
        }
        self.conclude().map(Some)
    }

    /// Notes the pick, if these metadata have it.
    fn note(&mut self, metadata: Option<&Struct>) {
        let Some(Value::Struct(ours)) = metadata.and_then(|all| all.get(NAMESPACE)) else {
            return;
        };
        if let Some(picked) = ours.get(control::DESTINATION.as_str()) {
            self.metadata = picked.as_text().map(str::to_owned);
        }
    }

    fn change(&mut self, changes: HeaderMutation) {
        self.changes.set.extend(changes.set);
        self.changes.remove.extend(changes.remove);
    }

    fn body(&mut self, mutation: Option<BodyMutation>) -> Result<(), ClientError> {
        match mutation {
            Some(BodyMutation::Streamed(chunk)) => {
                self.echo.back(&chunk.body);
                self.keep(chunk.body)?;
                self.done |= chunk.end_of_stream;
            }
            // The two forms of processors that answer a whole body by a whole body.
            Some(BodyMutation::Replace(body)) => {
                self.echo.change();
                self.keep(body)?;
                self.done = true;
            }
            Some(BodyMutation::Clear(true)) => {
                self.echo.change();
                self.done = true;
            }
            Some(BodyMutation::Clear(false)) | None => self.done = true,
        }
        Ok(())
    }

    fn keep(&mut self, chunk: Bytes) -> Result<(), ClientError> {
        self.back_len += chunk.len();
        if self.back_len > LONGEST {
            return Err(ClientError::Protocol(
                "it gave back a body that is too long",
            ));
        }
        self.back.push(chunk);
        Ok(())
    }

    /// The stream is over. What was said before holds, if it is complete.
    fn ended(&mut self) -> Result<Asked, ClientError> {
        if !self.head {
            return Err(ClientError::NoPick);
        }
        if self.echo.is_changed() && !self.done {
            return Err(ClientError::Protocol(
                "it ended in the middle of a changed body",
            ));
        }
        if !self.done {
            // What came back is a part of what was sent, so the rest is known.
            self.back.clear();
        }
        self.conclude()
    }

    fn conclude(&mut self) -> Result<Asked, ClientError> {
        // Bytes that did not come back, of a body that is complete, were taken out.
        let cut = self.done && !self.back.is_empty() && self.echo.len() > 0;
        let changed = self.echo.is_changed() || cut;
        let changes = std::mem::take(&mut self.changes);
        let mut set = changes.set.iter().rev();
        let header = set.find(|set| {
            let name = &set.header.name;
            name.eq_ignore_ascii_case(control::DESTINATION.as_str())
        });
        let header = header.map(|set| String::from_utf8_lossy(&set.header.value).into_owned());
        let destination = header
            .or_else(|| self.metadata.take())
            .ok_or(ClientError::NoPick)?;
        Ok(Asked::Chosen(Chosen {
            destination,
            changes,
            body: changed.then(|| self.joined()),
            call: None,
        }))
    }

    fn joined(&mut self) -> Bytes {
        if let [only] = self.back.as_mut_slice() {
            return std::mem::take(only);
        }
        let mut joined = BytesMut::with_capacity(self.back_len);
        self.back
            .drain(..)
            .for_each(|chunk| joined.extend_from_slice(&chunk));
        joined.freeze()
    }
}

// === impl Asked ===

impl Asked {
    /// The stream stays open.
    pub(super) fn with(self, call: Box<Call>) -> Self {
        match self {
            Self::Chosen(chosen) => Self::Chosen(Chosen {
                call: Some(call),
                ..chosen
            }),
            answered @ Self::Answered(_) => answered,
        }
    }
}

/// What the client gets of an `ImmediateResponse`.
pub(super) fn direct(answer: ImmediateResponse) -> DirectAnswer {
    let status = u16::try_from(answer.status).ok();
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let mut headers = HeaderMap::new();
    edit::headers(&answer.headers, &mut headers);
    DirectAnswer {
        status: status
            .filter(|status| edit::is_final(*status))
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        headers,
        body: answer.body,
    }
}

#[cfg(test)]
#[path = "asking/tests.rs"]
mod tests;
