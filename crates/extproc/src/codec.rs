//! Messages to bytes and back.

use bytes::{Bytes, BytesMut};

use crate::message::{ProcessingRequest, ProcessingResponse};
use crate::wire::{DecodeError, Encode, Reader};

/// A message of a stream.
pub trait Message: Sized {
    /// Reads one from `bytes`, whose memory bodies and values go on to share.
    ///
    /// # Errors
    /// The bytes are no such message.
    fn decode(bytes: &Bytes) -> Result<Self, DecodeError>;

    /// Length in bytes when written.
    fn encoded_len(&self) -> usize;

    /// Appends the message to `out`.
    fn encode(&self, out: &mut BytesMut);
}

impl Message for ProcessingRequest {
    fn decode(bytes: &Bytes) -> Result<Self, DecodeError> {
        Self::decode(Reader::new(bytes))
    }

    fn encoded_len(&self) -> usize {
        Encode::encoded_len(self)
    }

    fn encode(&self, out: &mut BytesMut) {
        self.fields(out);
    }
}

impl Message for ProcessingResponse {
    fn decode(bytes: &Bytes) -> Result<Self, DecodeError> {
        Self::decode(Reader::new(bytes))
    }

    fn encoded_len(&self) -> usize {
        Encode::encoded_len(self)
    }

    fn encode(&self, out: &mut BytesMut) {
        self.fields(out);
    }
}
