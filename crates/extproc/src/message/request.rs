//! `ProcessingRequest`: what the proxy says.

use super::body::HttpBody;
use super::header::{HttpHeaders, HttpTrailers};
use super::metadata::Metadata;
use super::mode::ProtocolConfig;
use crate::wire::{DecodeError, Encode, Reader, Sink};

/// A message of the proxy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProcessingRequest {
    /// The part of the exchange that this is about; `None`: one that this version does not know.
    pub part: Option<Part>,
    /// `metadata_context`.
    pub metadata: Option<Metadata>,
    /// `observability_mode`: the proxy expects no answer.
    pub observability: bool,
    /// `protocol_config`, in the first message of a stream.
    pub protocol: Option<ProtocolConfig>,
}

/// A part of an exchange, as the proxy sees it pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// `request_headers`
    RequestHeaders(HttpHeaders),
    /// `response_headers`
    ResponseHeaders(HttpHeaders),
    /// `request_body`
    RequestBody(HttpBody),
    /// `response_body`
    ResponseBody(HttpBody),
    /// `request_trailers`
    RequestTrailers(HttpTrailers),
    /// `response_trailers`
    ResponseTrailers(HttpTrailers),
}

// === impl ProcessingRequest ===

impl ProcessingRequest {
    /// A message about `part` and nothing else.
    #[must_use]
    pub fn of(part: Part) -> Self {
        Self {
            part: Some(part),
            ..Self::default()
        }
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut request = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                2..=7 => request.part = Some(Part::decode(field.number, field.message()?)?),
                8 => request.metadata = Some(Metadata::decode(field.message()?)?),
                10 => request.observability = field.flag()?,
                11 => request.protocol = Some(ProtocolConfig::decode(field.message()?)?),
                _ => {}
            }
        }
        Ok(request)
    }
}

impl Encode for ProcessingRequest {
    fn fields(&self, sink: &mut impl Sink) {
        match &self.part {
            Some(Part::RequestHeaders(head)) => sink.message(2, head),
            Some(Part::ResponseHeaders(head)) => sink.message(3, head),
            Some(Part::RequestBody(body)) => sink.message(4, body),
            Some(Part::ResponseBody(body)) => sink.message(5, body),
            Some(Part::RequestTrailers(trailers)) => sink.message(6, trailers),
            Some(Part::ResponseTrailers(trailers)) => sink.message(7, trailers),
            None => {}
        }
        if let Some(metadata) = &self.metadata {
            sink.message(8, metadata);
        }
        sink.flag(10, self.observability);
        if let Some(protocol) = &self.protocol {
            sink.message(11, protocol);
        }
    }
}

// === impl Part ===

impl Part {
    fn decode(number: u32, reader: Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match number {
            2 => Self::RequestHeaders(HttpHeaders::decode(reader)?),
            3 => Self::ResponseHeaders(HttpHeaders::decode(reader)?),
            4 => Self::RequestBody(HttpBody::decode(reader)?),
            5 => Self::ResponseBody(HttpBody::decode(reader)?),
            6 => Self::RequestTrailers(HttpTrailers::decode(reader)?),
            _ => Self::ResponseTrailers(HttpTrailers::decode(reader)?),
        })
    }
}
