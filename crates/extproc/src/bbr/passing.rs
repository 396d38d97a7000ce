//! What passes untouched: bodies that are not read, and responses.

use crate::message::{
    BodyMode, CommonResponse, HttpBody, Part, ProcessingResponse, ProtocolConfig, Reply,
};
use crate::session::answer::pieces;
use crate::session::response::Response;
use crate::session::{Replies, trailers_reply};

/// The rest of an exchange.
#[derive(Debug)]
pub(super) struct Passing {
    mode: BodyMode,
    /// Whether more of the request comes, which has to be answered.
    open: bool,
    response: Response,
}

// === impl Passing ===

impl Passing {
    pub(super) fn boxed(modes: &ProtocolConfig, open: bool) -> Box<Self> {
        Box::new(Self {
            mode: modes.request_body,
            open,
            response: Response::foreign(modes),
        })
    }

    /// A chunk of the request. Gives whether nothing can be lost if no more is listened to.
    pub(super) fn request_body(&mut self, chunk: HttpBody, out: &mut Replies) -> bool {
        if !self.open {
            return false;
        }
        let end = chunk.end_of_stream;
        self.open = !end;
        if self.mode == BodyMode::FULL_DUPLEX_STREAMED {
            pieces(chunk.body, end, Reply::RequestBody, out);
            return false;
        }
        let nothing = CommonResponse::default();
        out.push(ProcessingResponse::of(Reply::RequestBody(nothing)));
        // The proxy has held all of such a request until now.
        end && [BodyMode::BUFFERED, BodyMode::BUFFERED_PARTIAL].contains(&self.mode)
    }

    /// Trailers of the request.
    pub(super) fn request_trailers(&mut self, out: &mut Replies) {
        if std::mem::take(&mut self.open) {
            let reply = Reply::RequestTrailers(trailers_reply());
            out.push(ProcessingResponse::of(reply));
        }
    }

    /// A part of the response. Gives whether that was all.
    pub(super) fn response(&mut self, part: Part, out: &mut Replies) -> bool {
        match part {
            Part::ResponseHeaders(head) => self.response.headers(&head, None, out),
            Part::ResponseBody(body) => self.response.body(body, out),
            Part::ResponseTrailers(_) => {
                self.response.trailers(out);
                true
            }
            _ => false,
        }
    }
}
