//! Where the bytes of a response come from: its endpoint, or the foreign picker that follows it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use suimon_picker::{Follow, FollowError, Piece};

use crate::stream::StreamError;

/// A response's body, as it is to be read.
#[derive(Debug)]
pub(crate) enum Source {
    /// As the endpoint sends it.
    Endpoint(Incoming),
    /// As the picker gives it back.
    Followed(Box<Followed>),
}

/// A body that goes through a picker.
#[derive(Debug)]
pub(crate) struct Followed {
    body: Incoming,
    /// The endpoint has sent everything.
    ended: bool,
    fail_open: bool,
    through: Through,
}

#[derive(Debug)]
enum Through {
    Picker(Box<dyn Follow>),
    /// The picker has failed: what it still had, and then the endpoint's own.
    Nobody(VecDeque<Piece>),
}

type Polled = Poll<Option<Result<Frame<Bytes>, StreamError>>>;

// === impl Source ===

impl Source {
    /// `body`, followed by a picker whose failure ends it unless `fail_open`.
    pub(crate) fn followed(body: Incoming, follow: Box<dyn Follow>, fail_open: bool) -> Self {
        let mut followed = Followed {
            ended: false,
            body,
            fail_open,
            through: Through::Picker(follow),
        };
        if followed.body.is_end_stream() {
            followed.push(None);
        }
        Self::Followed(Box::new(followed))
    }

    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Polled {
        match self {
            Self::Endpoint(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
            Self::Followed(followed) => followed.poll_frame(cx),
        }
    }

    /// Whether it is known that nothing more comes.
    pub(crate) fn is_end_stream(&self) -> bool {
        match self {
            Self::Endpoint(body) => body.is_end_stream(),
            Self::Followed(_) => false,
        }
    }

    /// A picker may change the length.
    pub(crate) fn size_hint(&self) -> SizeHint {
        match self {
            Self::Endpoint(body) => body.size_hint(),
            Self::Followed(_) => SizeHint::default(),
        }
    }
}

// === impl Followed ===

impl Followed {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Polled {
        loop {
            match &mut self.through {
                Through::Nobody(rest) => {
                    if let Some(piece) = rest.pop_front() {
                        return Poll::Ready(Some(Ok(frame(piece))));
                    }
                    if self.ended {
                        return Poll::Ready(None);
                    }
                    return Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into);
                }
                Through::Picker(follow) => {
                    match follow.poll_next(cx) {
                        Poll::Ready(Some(Ok(piece))) => return Poll::Ready(Some(Ok(frame(piece)))),
                        Poll::Ready(None) => return Poll::Ready(None),
                        Poll::Ready(Some(Err(error))) => {
                            // An answer of the picker is no failure: it comes too late, though.
                            let failed = matches!(error, FollowError::Failed(_));
                            let rest = follow.rest().filter(|_| failed && self.fail_open);
                            let Some(rest) = rest else {
                                return Poll::Ready(Some(Err(StreamError::Picker(error))));
                            };
                            tracing::debug!(%error, "the response goes on without its picker");
                            self.through = Through::Nobody(rest.into());
                            continue;
                        }
                        Poll::Pending => {}
                    }
                    if self.ended || !follow.has_room() {
                        return Poll::Pending;
                    }
                }
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(frame)) => self.push(Some(frame)),
                None => self.push(None),
            }
        }
    }

    /// Gives what the endpoint sent to the picker.
    fn push(&mut self, frame: Option<Frame<Bytes>>) {
        let Through::Picker(follow) = &mut self.through else {
            return;
        };
        let piece = frame.and_then(|frame| match frame.into_data() {
            Ok(data) => Some(Piece::Data(data)),
            Err(frame) => frame.into_trailers().ok().map(Piece::Trailers),
        });
        // Trailers are the end, and so is the end.
        let last = !matches!(piece, Some(Piece::Data(_)));
        if piece.is_some() {
            follow.push(piece);
        }
        if last || self.body.is_end_stream() {
            self.ended = true;
            follow.push(None);
        }
    }
}

fn frame(piece: Piece) -> Frame<Bytes> {
    match piece {
        Piece::Data(data) => Frame::data(data),
        Piece::Trailers(trailers) => Frame::trailers(trailers),
    }
}
