//! Messages of gRPC inside the DATA frames of HTTP/2: a byte that says whether the message is
//! compressed, four bytes of its length, the message.
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::wire::Encode;

/// Statuses of gRPC that are answered here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Ok = 0,
    InvalidArgument = 3,
    NotFound = 5,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
}

/// The method of external processing.
pub(crate) const PROCESS: &str = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";

/// Bytes before a message.
const PREFIX: usize = 5;

/// Memory that is set aside on the word of a length alone.
const TRUSTED_LENGTH: usize = 64 << 10;

/// Puts messages together from DATA frames.
#[derive(Debug)]
pub(crate) struct Deframer {
    /// A part of a message, with its prefix.
    part: BytesMut,
    /// What follows `part`.
    chunk: Bytes,
    limit: usize,
}

/// Why bytes are no messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    /// A message is longer than is allowed.
    #[error("a message of {length} bytes is longer than the limit of {limit} bytes")]
    TooLong { length: usize, limit: usize },
    /// No compression was agreed on.
    #[error("a message is compressed")]
    Compressed,
}

// === impl Deframer ===

impl Deframer {
    /// Takes messages of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            part: BytesMut::new(),
            chunk: Bytes::new(),
            limit,
        }
    }

    /// Adds what a frame brought. Call it when [`Deframer::next`] has nothing more.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.part.extend_from_slice(&self.chunk);
            self.chunk = chunk;
        }
    }

    /// The next message, as soon as it is complete. One that lies in one frame shares its memory.
    ///
    /// # Errors
    /// The stream cannot be read on.
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, FrameError> {
        if self.part.is_empty() {
            let Some(length) = self.length(&self.chunk)? else {
                self.keep(PREFIX);
                return Ok(None);
            };
            let end = PREFIX + length;
            if self.chunk.len() >= end {
                let message = self.chunk.split_to(end);
                return Ok(Some(message.slice(PREFIX..)));
            }
            self.keep(end);
            return Ok(None);
        }
        self.fill(PREFIX);
        let Some(length) = self.length(&self.part)? else {
            return Ok(None);
        };
        self.fill(PREFIX + length);
        if self.part.len() < PREFIX + length {
            return Ok(None);
        }
        let mut message = std::mem::take(&mut self.part).freeze();
        message.advance(PREFIX);
        Ok(Some(message))
    }

    /// Keeps the rest of the chunk, which is the begin of a message of `end` bytes.
    fn keep(&mut self, end: usize) {
        if !self.chunk.is_empty() {
            self.part
                .reserve(end.min(TRUSTED_LENGTH).max(self.chunk.len()));
            self.fill(end);
        }
    }

    /// Moves bytes from the chunk until the part has `end` of them.
    fn fill(&mut self, end: usize) {
        let missing = end.saturating_sub(self.part.len()).min(self.chunk.len());
        self.part.extend_from_slice(&self.chunk.split_to(missing));
    }

    /// Length of the message that `bytes` begin with, if its prefix is there.
    fn length(&self, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
        let Some((&[compressed, a, b, c, d], _)) = bytes.split_first_chunk() else {
            return Ok(None);
        };
        if compressed != 0 {
            return Err(FrameError::Compressed);
        }
        let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > self.limit {
            let limit = self.limit;
            return Err(FrameError::TooLong { length, limit });
        }
        Ok(Some(length))
    }
}

/// `messages` with their prefixes, one behind the other.
pub(crate) fn frame<M: Encode>(messages: &[M]) -> Bytes {
    let lengths = messages
        .iter()
        .map(|message| PREFIX + message.encoded_len());
    let mut framed = BytesMut::with_capacity(lengths.sum());
    for message in messages {
        let begin = framed.len();
        framed.put_bytes(0, PREFIX);
        message.fields(&mut framed);
        let length = u32::try_from(framed.len() - begin - PREFIX).unwrap_or(u32::MAX);
        if let Some(prefix) = framed.get_mut(begin + 1..begin + PREFIX) {
            prefix.copy_from_slice(&length.to_be_bytes());
        }
    }
    framed.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Message;
    use crate::message::{HttpBody, Part, ProcessingRequest};

    fn body(bytes: &'static [u8]) -> ProcessingRequest {
        ProcessingRequest::of(Part::RequestBody(HttpBody {
            body: Bytes::from_static(bytes),
            end_of_stream: bytes.is_empty(),
        }))
    }

    #[test]
    fn messages_come_out_however_frames_cut_them() {
        let sent = [body(b"one"), body(b""), body(&[7; 300]), body(b"last")];
        let framed = frame(&sent);
        for size in 1..framed.len() {
            let mut deframer = Deframer::new(1000);
            let mut received = Vec::new();
            for at in (0..framed.len()).step_by(size) {
                deframer.push(framed.slice(at..framed.len().min(at + size)));
                while let Some(message) = deframer.next().unwrap() {
                    received.push(<ProcessingRequest as Message>::decode(&message).unwrap());
                }
            }
            assert_eq!(received, sent, "frames of {size} bytes");
        }
    }

    #[test]
    fn a_message_in_one_frame_is_not_copied() {
        let framed = frame(&[body(b"abc")]);
        let mut deframer = Deframer::new(1000);
        deframer.push(framed.clone());
        let message = deframer.next().unwrap().unwrap();
        assert_eq!(message.as_ptr(), framed[PREFIX..].as_ptr());
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_its_prefix() {
        let mut deframer = Deframer::new(10);
        deframer.push(Bytes::from_static(&[0, 0, 0, 0, 11]));
        let too_long = FrameError::TooLong {
            length: 11,
            limit: 10,
        };
        assert_eq!(deframer.next(), Err(too_long));
        let mut deframer = Deframer::new(10);
        deframer.push(Bytes::from_static(&[1, 0, 0, 0, 1, 0]));
        assert_eq!(deframer.next(), Err(FrameError::Compressed));
    }

    #[test]
    fn memory_is_not_set_aside_on_the_word_of_a_length() {
        let mut deframer = Deframer::new(usize::MAX);
        deframer.push(Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1]));
        assert_eq!(deframer.next(), Ok(None));
        assert!(deframer.part.capacity() <= 2 * TRUSTED_LENGTH);
    }
}
