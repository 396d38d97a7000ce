//! `ImmediateResponse`: the processor answers the client.

use bytes::Bytes;

use super::header::HeaderMutation;
use crate::wire::{DecodeError, Encode, Reader, Sink};

/// An answer to the client in place of the upstream's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImmediateResponse {
    /// HTTP status.
    pub status: u32,
    /// Its headers.
    pub headers: HeaderMutation,
    /// Its body.
    pub body: Bytes,
    /// Status for a client that speaks gRPC.
    pub grpc_status: Option<u32>,
    /// For the proxy's access log.
    pub details: String,
}

/// `HttpStatus` and `GrpcStatus`: a number as a message.
struct Number(u32);

// === impl ImmediateResponse ===

impl ImmediateResponse {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut response = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => response.status = number(field.message()?)?,
                2 => response.headers = HeaderMutation::decode(field.message()?)?,
                3 => response.body = field.bytes()?,
                4 => response.grpc_status = Some(number(field.message()?)?),
                5 => field.text()?.clone_into(&mut response.details),
                _ => {}
            }
        }
        Ok(response)
    }
}

impl Encode for ImmediateResponse {
    fn fields(&self, sink: &mut impl Sink) {
        sink.message(1, &Number(self.status));
        if !self.headers.is_empty() {
            sink.message(2, &self.headers);
        }
        sink.bytes_or_default(3, &self.body);
        if let Some(status) = self.grpc_status {
            sink.message(4, &Number(status));
        }
        sink.bytes_or_default(5, self.details.as_bytes());
    }
}

impl Encode for Number {
    fn fields(&self, sink: &mut impl Sink) {
        sink.number_or_default(1, u64::from(self.0));
    }
}

fn number(mut reader: Reader<'_>) -> Result<u32, DecodeError> {
    let mut number = 0;
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            number = field.number32()?;
        }
    }
    Ok(number)
}
