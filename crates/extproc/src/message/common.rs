//! `CommonResponse`: what answers to headers and to bodies have in common.

use super::body::BodyMutation;
use super::header::{Header, HeaderMap, HeaderMutation, decode_map};
use crate::wire::{DecodeError, Encode, Reader, Sink};

/// The answer to headers or to a body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommonResponse {
    /// How the proxy goes on.
    pub status: ReplyStatus,
    /// Changes to the headers.
    pub headers: HeaderMutation,
    /// The change to the body.
    pub body: Option<BodyMutation>,
    /// Trailers to add.
    pub trailers: Vec<Header>,
    /// The route is looked up again.
    pub clear_route_cache: bool,
}

/// `ResponseStatus`, an open enumeration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplyStatus(pub u32);

// === impl CommonResponse ===

impl CommonResponse {
    /// Reads a `HeadersResponse` or `BodyResponse`, which only wrap one.
    pub(crate) fn decode_wrapped(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        while let Some(field) = reader.next()? {
            if field.number == 1 {
                response = Self::decode(field.message()?)?;
            }
        }
        Ok(response)
    }

    fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => response.status = ReplyStatus(field.number32()?),
                2 => response.headers = HeaderMutation::decode(field.message()?)?,
                3 => response.body = BodyMutation::decode(field.message()?)?,
                4 => response.trailers = decode_map(field.message()?)?,
                5 => response.clear_route_cache = field.flag()?,
                _ => {}
            }
        }
        Ok(response)
    }
}

impl Encode for CommonResponse {
    fn fields(&self, sink: &mut impl Sink) {
        sink.number_or_default(1, u64::from(self.status.0));
        if !self.headers.is_empty() {
            sink.message(2, &self.headers);
        }
        if let Some(body) = &self.body {
            sink.message(3, body);
        }
        if !self.trailers.is_empty() {
            sink.message(4, &HeaderMap(&self.trailers));
        }
        sink.flag(5, self.clear_route_cache);
    }
}

// === impl ReplyStatus ===

impl ReplyStatus {
    /// Apply the changes and go on.
    pub const CONTINUE: Self = Self(0);
    /// Replace the body too, and send no more of it to the processor.
    pub const CONTINUE_AND_REPLACE: Self = Self(1);
}
