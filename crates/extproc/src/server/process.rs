//! **The walk** of one `Process` stream: messages to the session, its replies back, the picker asked
//! when the session says so.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Shared;
use super::connection::drains;
use super::exchange::Exchange;
use super::stream::{Broken, Inbox, Outbox, Stream};
use crate::codec::Message;
use crate::grpc::{Code, FrameError, frame};
use crate::message::ProcessingRequest;
use crate::session::{Next, Question, Replies};

/// A session whose account is closed however its stream ends, also when its future is dropped.
struct Live {
    session: Box<dyn Exchange>,
    shared: Arc<Shared>,
    /// Not sent yet.
    replies: Replies,
    /// Whether it counts as a request that is open.
    counted: bool,
}

/// How a stream ends.
enum End {
    /// With this status.
    Status(Code, &'static str),
    /// The peer is gone or says no more.
    Gone,
}

/// Time that the first message of a stream gets once the server drains.
const FIRST_MESSAGE: Duration = Duration::from_secs(1);

/// Replies that are written as one.
const MAX_WRITE: usize = 8;

/// Replies that are put together before they are sent, at most.
const MAX_BATCH: usize = 64;

/// Serves the stream.
pub(crate) async fn run(stream: Stream, shared: Arc<Shared>) {
    let Stream {
        mut inbox,
        mut outbox,
    } = stream;
    let mut live = Live::new(shared);
    match live.walk(&mut inbox, &mut outbox).await {
        Ok(End::Status(code, message)) => outbox.end(code, message),
        Ok(End::Gone) => outbox.end(Code::Ok, ""),
        Err(Broken::Frame(FrameError::Compressed)) => {
            outbox.end(Code::Internal, "a message is compressed");
        }
        Err(broken) => tracing::trace!(%broken, "stream"),
    }
}

// === impl Live ===

impl Live {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            session: shared.processor.session(),
            shared,
            replies: Replies::new(),
            counted: false,
        }
    }

    async fn walk(&mut self, inbox: &mut Inbox, outbox: &mut Outbox) -> Result<End, Broken> {
        loop {
            let mut next = self.read(inbox)?;
            if let Next::Pick(question) = next {
                let Some(after) = self.pick(&question, inbox).await? else {
                    return Ok(End::Gone);
                };
                next = after;
                if matches!(next, Next::Wait) {
                    continue;
                }
            }
            // What has arrived is taken first: an empty last chunk then ends the reply before it.
            let more = (1..MAX_BATCH).contains(&self.replies.len());
            if matches!(next, Next::Wait) && more && inbox.arrived().await? {
                continue;
            }
            self.send(outbox).await?;
            match next {
                Next::Wait | Next::Pick(_) => {}
                Next::End => return Ok(End::Status(Code::Ok, "")),
                Next::Unsupported(why) => return Ok(End::Status(Code::InvalidArgument, why)),
            }
            let more = tokio::select! {
                biased;
                more = inbox.more() => more?,
                () = self.is_idle() => {
                    return Ok(End::Status(Code::Unavailable, "the server ends"));
                }
            };
            if !more {
                return Ok(End::Gone);
            }
        }
    }

    /// Comes to an end when the server drains and no request has begun.
    async fn is_idle(&self) {
        if self.session.has_begun() {
            return std::future::pending().await;
        }
        drains(&mut self.shared.draining.subscribe()).await;
        // The first message may be on its way.
        tokio::time::sleep(FIRST_MESSAGE).await;
    }

    fn count(&mut self) {
        if !self.counted && self.session.has_begun() {
            self.counted = true;
            self.shared.requests.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Asks the picker. Meanwhile the peer may say more, or leave: then there is nothing left to do.
    async fn pick(
        &mut self,
        question: &Question,
        inbox: &mut Inbox,
    ) -> Result<Option<Next>, Broken> {
        let shared = Arc::clone(&self.shared);
        let Some(picker) = shared.processor.picker() else {
            return Ok(Some(Next::Unsupported("nothing is picked here")));
        };
        let mut picking = picker.pick(question.request());
        loop {
            tokio::select! {
                biased;
                decided = &mut picking => {
                    let now = shared.clock.now();
                    return Ok(Some(self.session.picked(decided, now, &mut self.replies)));
                }
                more = inbox.more() => {
                    if !more? {
                        return Ok(None);
                    }
                    match self.read(inbox)? {
                        Next::Wait if self.session.is_picking() => {}
                        next => return Ok(Some(next)),
                    }
                }
            }
        }
    }

    /// Gives the session all messages that are complete, until it wants something.
    fn read(&mut self, inbox: &mut Inbox) -> Result<Next, Broken> {
        loop {
            let bytes = match inbox.next() {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Next::Wait),
                Err(FrameError::TooLong { limit, .. }) => {
                    return Ok(self.session.too_long(limit, &mut self.replies));
                }
                Err(error) => return Err(error.into()),
            };
            let message = match <ProcessingRequest as Message>::decode(&bytes) {
                Ok(message) => message,
                Err(error) => {
                    tracing::debug!(%error, "message of a proxy");
                    return Ok(Next::Unsupported("a message cannot be read"));
                }
            };
            let now = self.shared.clock.now();
            let next = self.session.on(message, now, &mut self.replies);
            self.count();
            match next {
                Next::Wait => {}
                next => return Ok(next),
            }
        }
    }

    async fn send(&mut self, outbox: &mut Outbox) -> Result<(), h2::Error> {
        while !self.replies.is_empty() {
            // A few at a time, so that a large body is not in memory twice.
            let count = self.replies.len().min(MAX_WRITE);
            let bytes = frame(&self.replies[..count]);
            self.replies.drain(..count);
            outbox.send(bytes).await?;
        }
        Ok(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let now = self.shared.clock.now();
        self.session.close(now);
        if self.counted {
            self.shared.requests.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
