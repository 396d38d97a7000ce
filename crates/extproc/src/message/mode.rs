//! Which parts of a request and response the proxy sends, and how.

use crate::wire::{DecodeError, Encode, Reader, Sink};

/// `BodySendMode`, an open enumeration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodyMode(pub u32);

/// `HeaderSendMode`, an open enumeration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeaderMode(pub u32);

/// `ProtocolConfiguration`, which comes with the first message of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProtocolConfig {
    /// How the request's body comes.
    pub request_body: BodyMode,
    /// How the response's body comes.
    pub response_body: BodyMode,
    /// The request's body does not wait for the answer to the headers.
    pub body_without_waiting: bool,
}

/// `ProcessingMode`: what is sent, in total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessingMode {
    /// Headers of the request.
    pub request_headers: HeaderMode,
    /// Headers of the response.
    pub response_headers: HeaderMode,
    /// Body of the request.
    pub request_body: BodyMode,
    /// Body of the response.
    pub response_body: BodyMode,
    /// Trailers of the request.
    pub request_trailers: HeaderMode,
    /// Trailers of the response.
    pub response_trailers: HeaderMode,
}

// === impl BodyMode ===

impl BodyMode {
    /// Not sent.
    pub const NONE: Self = Self(0);
    /// In chunks, each of which waits for its answer.
    pub const STREAMED: Self = Self(1);
    /// Whole.
    pub const BUFFERED: Self = Self(2);
    /// As much as the proxy's buffer holds.
    pub const BUFFERED_PARTIAL: Self = Self(3);
    /// In chunks, which are answered by other chunks.
    pub const FULL_DUPLEX_STREAMED: Self = Self(4);
    /// In messages of gRPC.
    pub const GRPC: Self = Self(5);
}

// === impl HeaderMode ===

impl HeaderMode {
    /// As configured.
    pub const DEFAULT: Self = Self(0);
    /// Sent.
    pub const SEND: Self = Self(1);
    /// Not sent.
    pub const SKIP: Self = Self(2);
}

// === impl ProtocolConfig ===

impl ProtocolConfig {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut config = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => config.request_body = BodyMode(field.number32()?),
                2 => config.response_body = BodyMode(field.number32()?),
                3 => config.body_without_waiting = field.flag()?,
                _ => {}
            }
        }
        Ok(config)
    }
}

impl Encode for ProtocolConfig {
    fn fields(&self, sink: &mut impl Sink) {
        sink.number_or_default(1, u64::from(self.request_body.0));
        sink.number_or_default(2, u64::from(self.response_body.0));
        sink.flag(3, self.body_without_waiting);
    }
}

// === impl ProcessingMode ===

impl ProcessingMode {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut mode = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => mode.request_headers = HeaderMode(field.number32()?),
                2 => mode.response_headers = HeaderMode(field.number32()?),
                3 => mode.request_body = BodyMode(field.number32()?),
                4 => mode.response_body = BodyMode(field.number32()?),
                5 => mode.request_trailers = HeaderMode(field.number32()?),
                6 => mode.response_trailers = HeaderMode(field.number32()?),
                _ => {}
            }
        }
        Ok(mode)
    }
}

impl Encode for ProcessingMode {
    fn fields(&self, sink: &mut impl Sink) {
        let values = [
            self.request_headers.0,
            self.response_headers.0,
            self.request_body.0,
            self.response_body.0,
            self.request_trailers.0,
            self.response_trailers.0,
        ];
        for (field, value) in (1..).zip(values) {
            sink.number_or_default(field, u64::from(value));
        }
    }
}
