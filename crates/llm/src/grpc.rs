//! gRPC messages in a body: a length in front of each, and perhaps compression.
//!
//! A message is preceded by one byte that tells whether it is compressed and four with its length,
//! most significant first (gRPC over HTTP/2, "Length-Prefixed-Message").

use std::ops::Range;

/// Bytes in front of a message.
const PREFIX: usize = 5;

/// Longest message of a response that is held together; the bytes of a longer one pass unread.
const MAX_MESSAGE: usize = 1024 * 1024;

/// The body does not start with a message that can be read. The text is fit for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The body ends within the prefix or the message.
    #[error("the message is incomplete")]
    Incomplete,
    /// Compressed: which coding it is stands in a header.
    #[error("the message is compressed")]
    Compressed,
    /// The first byte is neither 0 nor 1.
    #[error("the compression flag is neither 0 nor 1")]
    Flag,
}

/// Where the first message of `body` is. A request of one message may have nothing behind it that
/// counts.
pub(crate) fn first_message(body: &[u8]) -> Result<Range<usize>, FrameError> {
    let (prefix, rest) = body.split_first_chunk().ok_or(FrameError::Incomplete)?;
    let (flag, len) = prefix_of(*prefix);
    match flag {
        0 if len <= rest.len() => Ok(PREFIX..PREFIX + len),
        0 => Err(FrameError::Incomplete),
        1 => Err(FrameError::Compressed),
        _ => Err(FrameError::Flag),
    }
}

/// Cuts a stream into messages, however it is cut into chunks.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// Prefix and message, as far as they have come.
    kept: Vec<u8>,
    /// Bytes of an unread message that are still to come.
    unread: usize,
}

// === impl Messages ===

impl Messages {
    /// Reads the next bytes of the stream and gives `each` what is complete. Messages that are
    /// compressed or too long are passed over.
    pub(crate) fn push(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8])) {
        let mut rest = chunk;
        loop {
            let unread = self.unread.min(rest.len());
            self.unread -= unread;
            rest = rest.get(unread..).unwrap_or_default();
            let Some(prefix) = self.prefix(&mut rest) else {
                return;
            };
            let (flag, len) = prefix_of(prefix);
            if flag != 0 || len > MAX_MESSAGE {
                self.kept.clear();
                self.unread = len;
                continue;
            }
            let missing = PREFIX + len - self.kept.len();
            let Some((last, behind)) = rest.split_at_checked(missing) else {
                self.kept.extend_from_slice(rest);
                return;
            };
            rest = behind;
            if missing == len {
                each(last);
            } else {
                self.kept.extend_from_slice(last);
                each(self.kept.get(PREFIX..).unwrap_or_default());
            }
            self.kept.clear();
        }
    }

    /// Bytes that are kept in memory.
    pub(crate) const fn held(&self) -> usize {
        self.kept.len()
    }

    /// The prefix of the current message, once it is complete.
    fn prefix(&mut self, rest: &mut &[u8]) -> Option<[u8; PREFIX]> {
        let missing = PREFIX.saturating_sub(self.kept.len()).min(rest.len());
        let (more, behind) = rest.split_at(missing);
        self.kept.extend_from_slice(more);
        *rest = behind;
        self.kept.first_chunk().copied()
    }
}

const fn prefix_of(prefix: [u8; PREFIX]) -> (u8, usize) {
    let [flag, a, b, c, d] = prefix;
    (flag, u32::from_be_bytes([a, b, c, d]) as usize)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `message` with its prefix.
    pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
        let len = u32::try_from(message.len()).unwrap().to_be_bytes();
        [&[0], &len[..], message].concat()
    }

    #[test]
    fn the_first_message_counts() {
        let two = [framed(b"one"), framed(b"two")].concat();
        assert_eq!(first_message(&two), Ok(5..8));
        assert_eq!(first_message(&framed(b"")), Ok(5..5));
        for (body, error) in [
            (&b""[..], FrameError::Incomplete),
            (b"\0\0\0\0", FrameError::Incomplete),
            (b"\0\0\0\0\x02x", FrameError::Incomplete),
            (b"\0\xff\xff\xff\xffx", FrameError::Incomplete),
            (b"\x01\0\0\0\x01x", FrameError::Compressed),
            (b"{\"a\":1}", FrameError::Flag),
        ] {
            assert_eq!(first_message(body), Err(error), "{body:?}");
        }
    }

    #[test]
    fn messages_are_found_however_chunks_are_cut() {
        let long = vec![7; MAX_MESSAGE + 1];
        let stream = [
            framed(b"one"),
            framed(b""),
            b"\x01\0\0\0\x04zzzz".to_vec(),
            framed(&long),
            framed(&[b'x'; 300]),
            b"\0\0\0\0\x09part".to_vec(),
        ]
        .concat();
        for size in [1, 2, 5, 7, 64, 1000, stream.len()] {
            let (mut messages, mut found) = (Messages::default(), Vec::new());
            for chunk in stream.chunks(size) {
                messages.push(chunk, |message| found.push(message.to_vec()));
                assert!(messages.held() < 310);
            }
            let want = [b"one".to_vec(), Vec::new(), vec![b'x'; 300]];
            assert_eq!(found, want, "{size}");
            assert_eq!(messages.held(), 9, "the part at the end");
        }
    }
}
