//! Walks over the members of a JSON object or the elements of an array without parsing what they
//! hold.
//!
//! One level is checked strictly: punctuation, quotes, literals and numbers. What lies deeper is
//! checked for closed strings and matching brackets only; the engine that gets the body parses it
//! whole. No recursion: nesting costs a bit of a word.

use std::ops::Range;

use crate::mask::{BLOCK, Carry, Shape};

/// Deepest nesting that is accepted, as in most JSON parsers.
pub const MAX_DEPTH: u32 = 128;

/// The bytes are not a JSON document that can be read. The text is fit for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// The document stops in the middle.
    #[error("request body is not valid JSON: unexpected end")]
    UnexpectedEnd,
    /// A byte that JSON does not allow where it stands.
    #[error("request body is not valid JSON: unexpected byte at offset {at}")]
    Unexpected {
        /// Offset of the byte.
        at: usize,
    },
    /// Something follows the document.
    #[error("request body is not valid JSON: trailing characters at offset {at}")]
    Trailing {
        /// Offset of the first such byte.
        at: usize,
    },
    /// A field that must be read is not a valid string.
    #[error("request body is not valid JSON: invalid string at offset {at}")]
    InvalidString {
        /// Offset of the string.
        at: usize,
    },
    /// JSON, but not an object.
    #[error("request body must be a JSON object")]
    NotAnObject,
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("request body is not valid JSON: nested deeper than 128")]
    TooDeep,
    /// Not text.
    #[error("request body is not valid UTF-8")]
    NotUtf8,
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The name, without its quotes, as written.
    pub(crate) key: Range<usize>,
    /// The value, without blanks around it.
    pub(crate) value: Range<usize>,
}

/// Calls `each` for the members of the object that `json` holds, in order.
///
/// Members that stand before an error have been reported by then.
pub(crate) fn members(json: &[u8], mut each: impl FnMut(Member)) -> Result<(), ScanError> {
    let mut cursor = Cursor::open(json, b'{')?;
    if cursor.closed_at_once(b'}')? {
        return cursor.end();
    }
    loop {
        let key = cursor.key()?;
        let (value, more) = cursor.value(b'}')?;
        each(Member { key, value });
        if !more {
            return cursor.end();
        }
    }
}

/// Calls `each` for the elements of the array that `json` holds, in order.
pub(crate) fn elements(json: &[u8], mut each: impl FnMut(Range<usize>)) -> Result<(), ScanError> {
    let mut cursor = Cursor::open(json, b'[')?;
    if cursor.closed_at_once(b']')? {
        return cursor.end();
    }
    loop {
        let (value, more) = cursor.value(b']')?;
        each(value);
        if !more {
            return cursor.end();
        }
    }
}

/// End of the object or array that `json` starts with, and whether behind it an object is closed
/// and nothing more follows. For the last bytes of a document whose start is gone.
pub(crate) fn last_value(json: &[u8]) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(json);
    let start = cursor.next(true)?;
    if start != 0 || !matches!(json.first(), Some(b'{' | b'[')) {
        return None;
    }
    let end = cursor.skip_nested(start).ok()? + 1;
    loop {
        let at = cursor.next(false)?;
        match json[at] {
            b'}' => return cursor.blank_from(at + 1).then_some(0..end),
            b']' => return None,
            _ => cursor.skip_nested(at).ok()?,
        };
    }
}

/// Whether JSON counts `byte` as blank.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Goes from one byte that shapes the document to the next.
struct Cursor<'a> {
    json: &'a [u8],
    carry: Carry,
    /// Start of the block that follows the current one.
    ahead: usize,
    /// Start of the current block.
    base: usize,
    shape: Shape,
    /// Bits of the current block that have not been passed.
    todo: u64,
    /// Behind the last byte of the walked level that was dealt with.
    done: usize,
}

// === impl Cursor ===

impl<'a> Cursor<'a> {
    fn new(json: &'a [u8]) -> Self {
        Self {
            json,
            carry: Carry::default(),
            ahead: 0,
            base: 0,
            shape: Shape::default(),
            todo: 0,
            done: 0,
        }
    }

    /// A cursor behind the bracket that the document must start with.
    fn open(json: &'a [u8], bracket: u8) -> Result<Self, ScanError> {
        let start = json.iter().position(|byte| !is_blank(*byte));
        let start = start.ok_or(ScanError::UnexpectedEnd)?;
        match json[start] {
            first if first == bracket => {}
            b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                return Err(ScanError::NotAnObject);
            }
            _ => return Err(ScanError::Unexpected { at: start }),
        }
        let mut cursor = Self::new(json);
        let at = cursor.shaping()?;
        cursor.done = at + 1;
        Ok(cursor)
    }

    /// Position of the next bracket outside strings, or with `all` also of the next separator.
    #[inline]
    fn next(&mut self, all: bool) -> Option<usize> {
        loop {
            let wanted = if all {
                self.shape.brackets | self.shape.separators
            } else {
                self.shape.brackets
            };
            let bits = wanted & self.todo;
            if bits != 0 {
                let bit = bits.trailing_zeros();
                self.todo = (u64::MAX << bit) << 1;
                return Some(self.base + bit as usize);
            }
            self.read_block()?;
        }
    }

    #[inline]
    fn read_block(&mut self) -> Option<()> {
        let (passed, shape) = self.carry.read(self.json.get(self.ahead..)?);
        self.base = self.ahead + passed;
        self.ahead = self.base + BLOCK;
        self.shape = shape?;
        self.todo = u64::MAX;
        Some(())
    }

    fn shaping(&mut self) -> Result<usize, ScanError> {
        self.next(true).ok_or(ScanError::UnexpectedEnd)
    }

    /// Whether the object or array is empty. Otherwise nothing is passed.
    fn closed_at_once(&mut self, close: u8) -> Result<bool, ScanError> {
        let first = self.skip_blanks();
        if *self.json.get(first).ok_or(ScanError::UnexpectedEnd)? != close {
            return Ok(false);
        }
        self.done = self.shaping()? + 1;
        Ok(true)
    }

    /// A name and its colon.
    fn key(&mut self) -> Result<Range<usize>, ScanError> {
        let start = self.skip_blanks();
        let open = self.shaping()?;
        if open != start || self.json[open] != b'"' {
            return Err(ScanError::Unexpected { at: start });
        }
        let colon = self.shaping()?;
        if self.json[colon] != b':' {
            return Err(ScanError::Unexpected { at: colon });
        }
        let end = self.string_end(open, colon)?;
        self.done = colon + 1;
        Ok(open + 1..end - 1)
    }

    /// A value and the comma or the closing bracket behind it; `true` for the comma.
    fn value(&mut self, close: u8) -> Result<(Range<usize>, bool), ScanError> {
        let start = self.skip_blanks();
        let at = self.shaping()?;
        let (end, stop) = match self.json[at] {
            b'"' if at == start => {
                let stop = self.shaping()?;
                (self.string_end(at, stop)?, stop)
            }
            b'{' | b'[' if at == start => {
                self.done = self.skip_nested(at)? + 1;
                let end = self.done;
                let stop = self.shaping()?;
                let behind = self.skip_blanks();
                if behind != stop {
                    return Err(ScanError::Unexpected { at: behind });
                }
                (end, stop)
            }
            _ => (self.scalar_end(start, at)?, at),
        };
        let byte = self.json[stop];
        if byte != b',' && byte != close {
            return Err(ScanError::Unexpected { at: stop });
        }
        self.done = stop + 1;
        Ok((start..end, byte == b','))
    }

    /// Position of the bracket that closes the one at `open`.
    #[inline]
    fn skip_nested(&mut self, open: usize) -> Result<usize, ScanError> {
        // One bit a level, set for an array.
        let mut arrays = u128::from(self.json[open] == b'[');
        let mut depth = 1;
        loop {
            let at = self.next(false).ok_or(ScanError::UnexpectedEnd)?;
            let byte = self.json[at];
            if byte == b'{' || byte == b'[' {
                depth += 1;
                if depth >= MAX_DEPTH {
                    return Err(ScanError::TooDeep);
                }
                arrays = (arrays << 1) | u128::from(byte == b'[');
            } else {
                if (arrays & 1 == 1) != (byte == b']') {
                    return Err(ScanError::Unexpected { at });
                }
                arrays >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(at);
                }
            }
        }
    }

    /// Behind the string that opens at `open`, given that only blanks may follow up to `stop`.
    fn string_end(&self, open: usize, stop: usize) -> Result<usize, ScanError> {
        let end = self.trim_end(open, stop);
        // No quote opens between the two, so a quote at the end is the closing one.
        if end >= open + 2 && self.json[end - 1] == b'"' {
            Ok(end)
        } else {
            Err(ScanError::Unexpected { at: end - 1 })
        }
    }

    /// Behind the literal or number between `start` and `stop`.
    fn scalar_end(&self, start: usize, stop: usize) -> Result<usize, ScanError> {
        let end = self.trim_end(start, stop);
        match &self.json[start..end] {
            b"true" | b"false" | b"null" => Ok(end),
            number if is_number(number) => Ok(end),
            _ => Err(ScanError::Unexpected { at: start }),
        }
    }

    /// Checks that nothing follows.
    fn end(&self) -> Result<(), ScanError> {
        let at = self.skip_blanks();
        if at < self.json.len() {
            return Err(ScanError::Trailing { at });
        }
        Ok(())
    }

    fn blank_from(&self, at: usize) -> bool {
        self.json[at..].iter().copied().all(is_blank)
    }

    /// First byte at or behind `done` that is not blank; the length if there is none.
    fn skip_blanks(&self) -> usize {
        let rest = &self.json[self.done..];
        let blanks = rest.iter().take_while(|byte| is_blank(**byte)).count();
        self.done + blanks
    }

    fn trim_end(&self, start: usize, end: usize) -> usize {
        let text = &self.json[start..end];
        let blanks = text
            .iter()
            .rev()
            .take_while(|byte| is_blank(**byte))
            .count();
        end - blanks
    }
}

/// Whether `text` is a JSON number (RFC 8259 §6).
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', exponent @ ..] => exponent,
            _ => exponent,
        };
        let count = digits(exponent);
        return count > 0 && count == exponent.len();
    }
    rest.is_empty()
}
