//! The response phase: the picker sees the response, and gives it back.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, response};
use suimon_picker::follow::Showing;
use suimon_picker::{Follow, FollowError, Piece};
use tokio::time::{Instant, Sleep};

use super::asking::direct;
use super::call::Call;
use super::echo::Echo;
use super::error::ClientError;
use super::{edit, head};
use crate::message::{
    BodyMutation, CommonResponse, HeaderMutation, HttpBody, HttpTrailers, Part, ProcessingRequest,
    ProcessingResponse, Reply, ReplyStatus,
};

/// Bytes of a body that may be with the picker. One that holds a document until its end needs all of
/// it; one that never gives anything back must not cost more than this.
const WITH_PICKER: usize = 32 << 20;

/// Bytes that may wait for the picker to take them.
const WAITING: usize = 256 << 10;

/// See [`Follow`].
#[derive(Debug)]
pub(super) struct Follower {
    /// `None` once the picker has ended its stream well, or has failed.
    call: Option<Box<Call>>,
    timeout: Duration,
    /// Armed when the picker is first waited for.
    timer: Option<Pin<Box<Sleep>>>,
    /// Since when the picker owes something.
    since: Option<Instant>,
    echo: Echo,
    out: VecDeque<Piece>,
    /// Trailers that are with the picker.
    trailers: Option<HeaderMap>,
    /// Whether the picker is to give back each chunk as it comes.
    prompt: bool,
    /// The endpoint has sent everything.
    ended: bool,
    /// The picker has given back everything.
    done: bool,
}

// === impl Follower ===

impl Follower {
    pub(super) fn new(call: Box<Call>, timeout: Duration) -> Self {
        Self {
            call: Some(call),
            timeout,
            timer: None,
            since: None,
            echo: Echo::default(),
            out: VecDeque::new(),
            trailers: None,
            prompt: false,
            ended: false,
            done: false,
        }
    }

    async fn show(
        &mut self,
        served: SocketAddr,
        head: &mut response::Parts,
        end: bool,
    ) -> Result<(), FollowError> {
        let Some(call) = &mut self.call else {
            return Ok(());
        };
        let kind = head.headers.get(CONTENT_TYPE);
        self.prompt = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        call.push(&head::response(served, head, end));
        let common = loop {
            match call.next().await {
                Err(error) => return Err(self.fail(error)),
                // Without a word it goes on as it is.
                Ok(None) => {
                    self.call = None;
                    return Ok(());
                }
                Ok(Some(said)) => match said.reply {
                    Some(Reply::ResponseHeaders(common)) => break common,
                    Some(Reply::Immediate(answer)) => {
                        return Err(FollowError::Answered(Box::new(direct(answer))));
                    }
                    Some(Reply::ResponseBody(_) | Reply::ResponseTrailers(_)) => {
                        let early = "it answered the body before the head";
                        return Err(self.fail(ClientError::Protocol(early)));
                    }
                    // Late answers to parts of the request.
                    _ => {}
                },
            }
        };
        edit::response(&common.headers, head);
        self.headed(common, end);
        Ok(())
    }

    /// The head was answered.
    fn headed(&mut self, common: CommonResponse, end: bool) {
        if common.status == ReplyStatus::CONTINUE_AND_REPLACE {
            if let Some(BodyMutation::Replace(body)) = common.body {
                self.out.push_back(Piece::Data(body));
            }
            self.finish();
        } else if end {
            self.finish();
        }
    }

    /// Nothing more is expected of the picker.
    fn finish(&mut self) {
        self.done = true;
        if let Some(call) = &mut self.call {
            call.finish();
        }
    }

    fn fail(&mut self, error: ClientError) -> FollowError {
        self.call = None;
        FollowError::Failed(Box::new(error))
    }

    /// The picker has ended its stream well: what it has not given back goes on as it is.
    fn part(&mut self) -> Result<(), FollowError> {
        self.call = None;
        if self.done {
            return Ok(());
        }
        let Some(rest) = self.rest() else {
            let changed = "it ended in the middle of a changed body";
            return Err(self.fail(ClientError::Protocol(changed)));
        };
        self.out.extend(rest);
        Ok(())
    }

    fn on(&mut self, said: ProcessingResponse) -> Result<(), FollowError> {
        self.since = self.owes().then(Instant::now);
        match said.reply {
            Some(Reply::ResponseBody(common)) => self.body(common.body),
            Some(Reply::ResponseTrailers(changes)) => self.trailed(&changes),
            Some(Reply::Immediate(answer)) => {
                self.call = None;
                self.echo.change();
                return Err(FollowError::Answered(Box::new(direct(answer))));
            }
            Some(Reply::ResponseHeaders(_)) => {
                return Err(self.fail(ClientError::Protocol("it answered the head twice")));
            }
            _ => {}
        }
        Ok(())
    }

    fn body(&mut self, mutation: Option<BodyMutation>) {
        let (bytes, end) = match mutation {
            Some(BodyMutation::Streamed(chunk)) => {
                self.echo.back(&chunk.body);
                (chunk.body, chunk.end_of_stream)
            }
            Some(BodyMutation::Replace(body)) => {
                self.echo.change();
                (body, false)
            }
            Some(BodyMutation::Clear(true)) => {
                self.echo.change();
                (Bytes::new(), false)
            }
            Some(BodyMutation::Clear(false)) | None => (self.echo.pass(), false),
        };
        if !bytes.is_empty() {
            self.out.push_back(Piece::Data(bytes));
        }
        if end && self.trailers.is_none() {
            self.finish();
        }
    }

    fn trailed(&mut self, changes: &HeaderMutation) {
        if let Some(mut trailers) = self.trailers.take() {
            edit::headers(changes, &mut trailers);
            self.out.push_back(Piece::Trailers(trailers));
            self.finish();
        }
    }

    /// Whether the picker has to say something before anything else can happen. One that holds a
    /// document until its end may do so.
    fn owes(&self) -> bool {
        let full = self.echo.len() >= WITH_PICKER;
        !self.done && (self.ended || full || (self.prompt && self.echo.len() > 0))
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<FollowError> {
        if !self.owes() {
            self.since = None;
            return Poll::Pending;
        }
        let late = *self.since.get_or_insert_with(Instant::now) + self.timeout;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(late)));
        while timer.as_mut().poll(cx).is_ready() {
            if Instant::now() >= late {
                let timeout = self.timeout;
                return Poll::Ready(self.fail(ClientError::Timeout(timeout)));
            }
            timer.as_mut().reset(late);
        }
        Poll::Pending
    }
}

impl Follow for Follower {
    fn head<'a>(
        &'a mut self,
        served: SocketAddr,
        head: &'a mut response::Parts,
        end: bool,
    ) -> Showing<'a> {
        Box::pin(async move {
            let timeout = self.timeout;
            match tokio::time::timeout(timeout, self.show(served, head, end)).await {
                Ok(shown) => shown,
                Err(_elapsed) => Err(self.fail(ClientError::Timeout(timeout))),
            }
        })
    }

    fn has_room(&self) -> bool {
        let waiting = self.call.as_ref().map_or(0, |call| call.waiting());
        waiting < WAITING && self.echo.len() < WITH_PICKER
    }

    fn push(&mut self, piece: Option<Piece>) {
        let Some(call) = self.call.as_mut().filter(|_| !self.done) else {
            // The picker has gone, or has said all: then it has also said what the body is.
            self.ended |= !matches!(piece, Some(Piece::Data(_)));
            if !self.done {
                self.out.extend(piece);
            }
            return;
        };
        let part = match piece {
            Some(Piece::Data(body)) => {
                self.echo.sent(body.clone());
                Part::ResponseBody(HttpBody {
                    body,
                    end_of_stream: false,
                })
            }
            Some(Piece::Trailers(trailers)) => {
                let told = head::fields(&trailers).collect();
                self.trailers = Some(trailers);
                self.ended = true;
                Part::ResponseTrailers(HttpTrailers { trailers: told })
            }
            None if self.ended => return,
            None => {
                self.ended = true;
                Part::ResponseBody(HttpBody {
                    body: Bytes::new(),
                    end_of_stream: true,
                })
            }
        };
        call.push(&ProcessingRequest::of(part));
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Piece, FollowError>>> {
        loop {
            if let Some(piece) = self.out.pop_front() {
                return Poll::Ready(Some(Ok(piece)));
            }
            let Some(call) = &mut self.call else {
                return match self.done || self.ended {
                    true => Poll::Ready(None),
                    false => Poll::Pending,
                };
            };
            if self.done {
                // What is left to send is only that nothing follows.
                let _ = call.poll_next(cx);
                return Poll::Ready(None);
            }
            let heard = match call.poll_next(cx) {
                Poll::Pending => match self.poll_late(cx) {
                    Poll::Ready(error) => Err(error),
                    Poll::Pending => return Poll::Pending,
                },
                Poll::Ready(Err(error)) => Err(self.fail(error)),
                Poll::Ready(Ok(None)) => self.part(),
                Poll::Ready(Ok(Some(said))) => self.on(said),
            };
            if let Err(error) = heard {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn rest(&mut self) -> Option<Vec<Piece>> {
        let mut rest: Vec<_> = self.echo.take()?.into_iter().map(Piece::Data).collect();
        rest.extend(self.trailers.take().map(Piece::Trailers));
        Some(rest)
    }
}
