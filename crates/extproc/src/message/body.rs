//! Bodies, and changes to them.

use bytes::Bytes;

use crate::wire::{DecodeError, Encode, Reader, Sink};

/// `HttpBody`: a body or a chunk of one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpBody {
    /// Bytes.
    pub body: Bytes,
    /// Nothing follows, no trailers either.
    pub end_of_stream: bool,
}

/// `BodyMutation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyMutation {
    /// Replaces the body or chunk. Not in the full-duplex mode.
    Replace(Bytes),
    /// Replaces it by nothing, if true.
    Clear(bool),
    /// A chunk to send on. In the full-duplex mode only.
    Streamed(StreamedBody),
}

/// `StreamedBodyResponse`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamedBody {
    /// Bytes to send on.
    pub body: Bytes,
    /// Nothing follows.
    pub end_of_stream: bool,
}

// === impl HttpBody ===

impl HttpBody {
    pub(crate) fn decode(reader: Reader<'_>) -> Result<Self, DecodeError> {
        let (body, end_of_stream) = chunk(reader)?;
        Ok(Self {
            body,
            end_of_stream,
        })
    }
}

impl Encode for HttpBody {
    fn fields(&self, sink: &mut impl Sink) {
        sink.bytes_or_default(1, &self.body);
        sink.flag(2, self.end_of_stream);
    }
}

// === impl BodyMutation ===

impl BodyMutation {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Option<Self>, DecodeError> {
        let mut mutation = None;
        while let Some(field) = reader.next()? {
            mutation = match field.number {
                1 => Some(Self::Replace(field.bytes()?)),
                2 => Some(Self::Clear(field.flag()?)),
                3 => {
                    let (body, end_of_stream) = chunk(field.message()?)?;
                    Some(Self::Streamed(StreamedBody {
                        body,
                        end_of_stream,
                    }))
                }
                _ => continue,
            };
        }
        Ok(mutation)
    }
}

impl Encode for BodyMutation {
    fn fields(&self, sink: &mut impl Sink) {
        match self {
            Self::Replace(body) => sink.bytes(1, body),
            Self::Clear(clear) => sink.number(2, u64::from(*clear)),
            Self::Streamed(chunk) => sink.message(3, chunk),
        }
    }
}

impl Encode for StreamedBody {
    fn fields(&self, sink: &mut impl Sink) {
        sink.bytes_or_default(1, &self.body);
        sink.flag(2, self.end_of_stream);
    }
}

/// `HttpBody` and `StreamedBodyResponse` begin alike.
fn chunk(mut reader: Reader<'_>) -> Result<(Bytes, bool), DecodeError> {
    let (mut body, mut end_of_stream) = (Bytes::new(), false);
    while let Some(field) = reader.next()? {
        match field.number {
            1 => body = field.bytes()?,
            2 => end_of_stream = field.flag()?,
            _ => {}
        }
    }
    Ok((body, end_of_stream))
}
