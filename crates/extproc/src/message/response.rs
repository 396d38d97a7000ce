//! `ProcessingResponse`: what the processor answers.

use super::common::CommonResponse;
use super::header::HeaderMutation;
use super::immediate::ImmediateResponse;
use super::mode::ProcessingMode;
use super::value::Struct;
use crate::wire::{DecodeError, Encode, Reader, Sink};

/// A message of the processor.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessingResponse {
    /// What is answered; `None`: something that this version does not know.
    pub reply: Option<Reply>,
    /// `dynamic_metadata` that the proxy is to set, by namespace.
    pub dynamic_metadata: Option<Struct>,
    /// `mode_override`
    pub mode_override: Option<ProcessingMode>,
}

/// An answer to one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `request_headers`
    RequestHeaders(CommonResponse),
    /// `response_headers`
    ResponseHeaders(CommonResponse),
    /// `request_body`
    RequestBody(CommonResponse),
    /// `response_body`
    ResponseBody(CommonResponse),
    /// `request_trailers`
    RequestTrailers(HeaderMutation),
    /// `response_trailers`
    ResponseTrailers(HeaderMutation),
    /// `immediate_response`, to whatever part came last
    Immediate(ImmediateResponse),
}

/// `HeadersResponse` or `BodyResponse`.
struct Wrapped<'a>(&'a CommonResponse);

/// `TrailersResponse`.
struct Trailers<'a>(&'a HeaderMutation);

// === impl ProcessingResponse ===

impl ProcessingResponse {
    /// A message with `reply` and nothing else.
    #[must_use]
    pub fn of(reply: Reply) -> Self {
        Self {
            reply: Some(reply),
            ..Self::default()
        }
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1..=7 => response.reply = Some(Reply::decode(field.number, field.message()?)?),
                8 => response.dynamic_metadata = Some(Struct::decode(field.message()?, 0)?),
                9 => response.mode_override = Some(ProcessingMode::decode(field.message()?)?),
                _ => {}
            }
        }
        Ok(response)
    }
}

impl Encode for ProcessingResponse {
    fn fields(&self, sink: &mut impl Sink) {
        match &self.reply {
            Some(Reply::RequestHeaders(common)) => sink.message(1, &Wrapped(common)),
            Some(Reply::ResponseHeaders(common)) => sink.message(2, &Wrapped(common)),
            Some(Reply::RequestBody(common)) => sink.message(3, &Wrapped(common)),
            Some(Reply::ResponseBody(common)) => sink.message(4, &Wrapped(common)),
            Some(Reply::RequestTrailers(mutation)) => sink.message(5, &Trailers(mutation)),
            Some(Reply::ResponseTrailers(mutation)) => sink.message(6, &Trailers(mutation)),
            Some(Reply::Immediate(immediate)) => sink.message(7, immediate),
            None => {}
        }
        if let Some(metadata) = &self.dynamic_metadata {
            sink.message(8, metadata);
        }
        if let Some(mode) = &self.mode_override {
            sink.message(9, mode);
        }
    }
}

impl Encode for Wrapped<'_> {
    fn fields(&self, sink: &mut impl Sink) {
        sink.message(1, self.0);
    }
}

impl Encode for Trailers<'_> {
    fn fields(&self, sink: &mut impl Sink) {
        if !self.0.is_empty() {
            sink.message(1, self.0);
        }
    }
}

// === impl Reply ===

impl Reply {
    fn decode(number: u32, reader: Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match number {
            1 => Self::RequestHeaders(CommonResponse::decode_wrapped(reader)?),
            2 => Self::ResponseHeaders(CommonResponse::decode_wrapped(reader)?),
            3 => Self::RequestBody(CommonResponse::decode_wrapped(reader)?),
            4 => Self::ResponseBody(CommonResponse::decode_wrapped(reader)?),
            5 => Self::RequestTrailers(trailers(reader)?),
            6 => Self::ResponseTrailers(trailers(reader)?),
            _ => Self::Immediate(ImmediateResponse::decode(reader)?),
        })
    }
}

fn trailers(mut reader: Reader<'_>) -> Result<HeaderMutation, DecodeError> {
    let mut mutation = HeaderMutation::default();
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            mutation = HeaderMutation::decode(field.message()?)?;
        }
    }
    Ok(mutation)
}
