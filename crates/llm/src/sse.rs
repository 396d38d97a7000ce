//! An incremental scanner of server-sent events (WHATWG HTML, section 9.2).
//!
//! It finds where events end, however the stream is cut into chunks, and holds back no more than
//! the one event that is incomplete.

use std::ops::Range;

use smallvec::SmallVec;

/// Longest event that is held together; the bytes of a longer one pass through unread.
pub const MAX_EVENT: usize = 1024 * 1024;

/// Cuts a stream into events. The pieces of a stream, put together, are the stream.
#[derive(Debug, Default)]
pub struct SseScanner {
    /// The bytes of an event that is incomplete.
    carry: Vec<u8>,
    /// Whether a byte of the current line was seen.
    in_line: bool,
    /// Whether the last byte was a carriage return: a line feed then belongs to it.
    after_return: bool,
    /// Whether the current event is too long.
    oversized: bool,
}

/// A part of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A whole event.
    Event(Event<'a>),
    /// Bytes that are not read: a part of an event that is too long, or the rest of a line end.
    Raw(&'a [u8]),
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    raw: &'a [u8],
}

// === impl SseScanner ===

impl SseScanner {
    /// A scanner at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes of the stream and gives `each` what is complete.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Piece<'_>)) {
        let mut rest = chunk;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            if let Some(behind) = rest.strip_prefix(b"\n") {
                // The line end was dealt with at its carriage return.
                if self.carry.is_empty() {
                    each(Piece::Raw(b"\n"));
                } else {
                    self.carry.push(b'\n');
                }
                rest = behind;
            }
        }
        while let Some(end) = self.event_end(rest) {
            let (head, tail) = rest.split_at(end);
            self.complete(head, &mut each);
            rest = tail;
        }
        self.hold(rest, &mut each);
    }

    /// The stream has ended: gives `each` the event that no blank line ended.
    pub fn finish(&mut self, mut each: impl FnMut(Piece<'_>)) {
        if !self.carry.is_empty() {
            each(Piece::Event(Event { raw: &self.carry }));
        }
        *self = Self::default();
    }

    /// Bytes held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.carry.len()
    }

    /// Behind the blank line that ends the current event, if `bytes` has it.
    fn event_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            let Some(found) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.in_line |= !rest.is_empty();
                return None;
            };
            let blank = found == 0 && !self.in_line;
            self.in_line = false;
            at += found + 1;
            if rest[found] == b'\r' {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            if blank {
                return Some(at);
            }
        }
    }

    fn complete(&mut self, head: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        if std::mem::take(&mut self.oversized) {
            each(Piece::Raw(head));
        } else if self.carry.is_empty() {
            each(Piece::Event(Event { raw: head }));
        } else {
            self.carry.extend_from_slice(head);
            each(Piece::Event(Event { raw: &self.carry }));
            self.carry.clear();
        }
    }

    fn hold(&mut self, rest: &[u8], each: &mut impl FnMut(Piece<'_>)) {
        if rest.is_empty() {
            return;
        }
        if !self.oversized && self.carry.len() + rest.len() > MAX_EVENT {
            self.oversized = true;
            if !self.carry.is_empty() {
                each(Piece::Raw(&self.carry));
            }
            self.carry = Vec::new();
        }
        if self.oversized {
            each(Piece::Raw(rest));
        } else {
            self.carry.extend_from_slice(rest);
        }
    }
}

// === impl Event ===

impl<'a> Event<'a> {
    /// The event as it came, with the blank line that ends it.
    #[must_use]
    pub const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Where in [`raw`](Self::raw) the values of the `data` lines are.
    #[must_use]
    pub fn data(&self) -> SmallVec<[Range<usize>; 1]> {
        let mut ranges = SmallVec::new();
        let mut at = 0;
        while at < self.raw.len() {
            let rest = &self.raw[at..];
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            if let Some(value) = rest[..end].strip_prefix(b"data:") {
                let value = value.strip_prefix(b" ").unwrap_or(value);
                ranges.push(at + end - value.len()..at + end);
            } else if &rest[..end] == b"data" {
                ranges.push(at + end..at + end);
            }
            at += end + 1;
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pieces = (Vec<u8>, Vec<Vec<u8>>);

    /// The bytes that came out, and the data of each event that has any.
    fn run(chunks: &[&[u8]]) -> Pieces {
        let mut out = (Vec::new(), Vec::new());
        let mut each = |piece: Piece<'_>| match piece {
            Piece::Raw(bytes) => out.0.extend_from_slice(bytes),
            Piece::Event(event) => {
                out.0.extend_from_slice(event.raw());
                let lines: Vec<_> = event
                    .data()
                    .into_iter()
                    .map(|at| &event.raw()[at])
                    .collect();
                if !lines.is_empty() {
                    out.1.push(lines.join(&b'\n'));
                }
            }
        };
        let mut scanner = SseScanner::new();
        for chunk in chunks {
            scanner.push(chunk, &mut each);
        }
        scanner.finish(&mut each);
        out
    }

    #[test]
    fn any_two_cuts_give_the_same_events() {
        let streams: [(&str, &[&str]); 3] = [
            (
                "event: x\ndata: {\"t\":\"×数😀\"}\n\n: note\n\ndata:[DONE]\n\ndata: last",
                &["{\"t\":\"×数😀\"}", "[DONE]", "last"],
            ),
            (
                "data: a\r\ndata: b\r\n\r\ndata\r\n\r\n\r\ndata: c\r\n\r\n",
                &["a\nb", "", "c"],
            ),
            ("data: a\r\rdata: b\rdata: c\r\rid: 1\r\r", &["a", "b\nc"]),
        ];
        for (stream, want) in streams {
            let bytes = stream.as_bytes();
            let want: Vec<Vec<u8>> = want.iter().map(|data| data.as_bytes().to_vec()).collect();
            for first in 0..=bytes.len() {
                for second in first..=bytes.len() {
                    let cut = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                    let (out, events) = run(&cut);
                    assert_eq!(out, bytes);
                    assert_eq!(events, want, "{stream:?} cut at {first} and {second}");
                }
            }
        }
    }

    #[test]
    fn an_event_is_out_with_its_blank_line() {
        let mut scanner = SseScanner::new();
        let mut out = Vec::new();
        for chunk in [b"data: a\r\n\r".as_slice(), b"\n"] {
            scanner.push(chunk, |piece| match piece {
                Piece::Event(event) => out.push(event.raw().to_vec()),
                Piece::Raw(bytes) => out.push(bytes.to_vec()),
            });
            assert_eq!(scanner.held(), 0);
        }
        assert_eq!(out, [b"data: a\r\n\r".to_vec(), b"\n".to_vec()]);
    }

    #[test]
    fn an_event_too_long_passes_through() {
        let long = vec![b'x'; MAX_EVENT];
        let (out, events) = run(&[b"data: ", &long, b"more\n", b"\ndata: a\n\n"]);
        assert_eq!(
            out,
            [b"data: ".as_slice(), &long, b"more\n\ndata: a\n\n"].concat()
        );
        assert_eq!(events, [b"a".to_vec()]);
    }
}
