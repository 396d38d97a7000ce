//! The encoding of protocol buffers, as far as the messages here need it: tags, varints and fields
//! of known length. <https://protobuf.dev/programming-guides/encoding/>

use bytes::{BufMut, Bytes, BytesMut};

/// Why bytes are not the message that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("the message ends inside a field")]
    Truncated,
    /// A varint is longer than ten bytes, or has bits past the 64th.
    #[error("a number is longer than 64 bits")]
    Varint,
    /// A tag names field 0, a field past 2^29, or an encoding that does not exist.
    #[error("a field has an invalid tag")]
    Tag,
    /// A field is encoded as another type than it has.
    #[error("field {field} has the wrong encoding")]
    WrongType {
        /// Number of the field.
        field: u32,
    },
    /// Text is not UTF-8.
    #[error("field {field} is not UTF-8")]
    NotUtf8 {
        /// Number of the field.
        field: u32,
    },
    /// Values are nested deeper than [`crate::message::MAX_DEPTH`].
    #[error("values are nested too deep")]
    TooDeep,
}

/// Reads the fields of one message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// What is shared by long values instead of copied.
    root: &'a Bytes,
    rest: &'a [u8],
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) number: u32,
    root: &'a Bytes,
    value: Wire<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

/// Where fields are written to. Fields that have their default value are left out, unless a caller
/// says that they are present.
pub(crate) trait Sink: Sized {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Appends a message with its tag and length.
    fn message(&mut self, field: u32, message: &impl Encode) {
        varint(self, tag(field, 2));
        varint(self, message.encoded_len() as u64);
        message.fields(self);
    }

    /// Appends a whole number that is present.
    fn number(&mut self, field: u32, value: u64) {
        varint(self, tag(field, 0));
        varint(self, value);
    }

    /// Appends a whole number unless it is 0.
    fn number_or_default(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.number(field, value);
        }
    }

    /// Appends a truth unless it is false.
    fn flag(&mut self, field: u32, value: bool) {
        self.number_or_default(field, u64::from(value));
    }

    /// Appends a floating-point number that is present.
    fn double(&mut self, field: u32, value: f64) {
        varint(self, tag(field, 1));
        self.put(&value.to_le_bytes());
    }

    /// Appends bytes that are present.
    fn bytes(&mut self, field: u32, value: &[u8]) {
        varint(self, tag(field, 2));
        varint(self, value.len() as u64);
        self.put(value);
    }

    /// Appends bytes unless there are none.
    fn bytes_or_default(&mut self, field: u32, value: &[u8]) {
        if !value.is_empty() {
            self.bytes(field, value);
        }
    }
}

/// A message that can be written. The same walk counts and writes.
pub(crate) trait Encode {
    /// Appends all fields.
    fn fields(&self, sink: &mut impl Sink);

    /// Length of all fields, in bytes.
    fn encoded_len(&self) -> usize {
        let mut counted = Length(0);
        self.fields(&mut counted);
        counted.0
    }
}

/// Counts what is put.
struct Length(usize);

// === impl Reader ===

impl<'a> Reader<'a> {
    /// The fields of `root`.
    pub(crate) fn new(root: &'a Bytes) -> Self {
        Self { root, rest: root }
    }

    /// The next field; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = u32::try_from(self.varint()?).map_err(|_| DecodeError::Tag)?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| DecodeError::Truncated)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            _ => return Err(DecodeError::Tag),
        };
        if tag >> 3 == 0 {
            return Err(DecodeError::Tag);
        }
        Ok(Some(Field {
            number: tag >> 3,
            root: self.root,
            value,
        }))
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for (place, byte) in self.rest.iter().enumerate().take(10) {
            let bits = u64::from(byte & 0x7f);
            if place == 9 && bits > 1 {
                return Err(DecodeError::Varint);
            }
            value |= bits << (7 * place);
            if byte & 0x80 == 0 {
                self.take(place + 1)?;
                return Ok(value);
            }
        }
        Err(if self.rest.len() < 10 {
            DecodeError::Truncated
        } else {
            DecodeError::Varint
        })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| DecodeError::Truncated)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

// === impl Field ===

impl<'a> Field<'a> {
    /// A whole number.
    pub(crate) fn number(&self) -> Result<u64, DecodeError> {
        match self.value {
            Wire::Varint(value) => Ok(value),
            _ => Err(self.wrong_type()),
        }
    }

    /// The low 32 bits of a whole number, which is what counts of an enumeration.
    pub(crate) fn number32(&self) -> Result<u32, DecodeError> {
        let low = self.number()? & u64::from(u32::MAX);
        u32::try_from(low).map_err(|_| self.wrong_type())
    }

    /// A truth.
    pub(crate) fn flag(&self) -> Result<bool, DecodeError> {
        Ok(self.number()? != 0)
    }

    /// A floating-point number.
    pub(crate) fn double(&self) -> Result<f64, DecodeError> {
        match self.value {
            Wire::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.wrong_type()),
        }
    }

    /// Bytes, which share the memory of the whole message.
    pub(crate) fn bytes(&self) -> Result<Bytes, DecodeError> {
        Ok(self.root.slice_ref(self.slice()?))
    }

    /// Text, which shares the memory of the whole message.
    pub(crate) fn text(&self) -> Result<&'a str, DecodeError> {
        let field = self.number;
        std::str::from_utf8(self.slice()?).map_err(|_| DecodeError::NotUtf8 { field })
    }

    /// The fields of a message.
    pub(crate) fn message(&self) -> Result<Reader<'a>, DecodeError> {
        let (root, rest) = (self.root, self.slice()?);
        Ok(Reader { root, rest })
    }

    fn slice(&self) -> Result<&'a [u8], DecodeError> {
        match self.value {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong_type()),
        }
    }

    fn wrong_type(&self) -> DecodeError {
        DecodeError::WrongType { field: self.number }
    }
}

// === impl Sink ===

impl Sink for Length {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

impl Sink for BytesMut {
    fn put(&mut self, bytes: &[u8]) {
        self.put_slice(bytes);
    }
}

fn tag(field: u32, encoding: u32) -> u64 {
    u64::from(field << 3 | encoding)
}

fn varint(sink: &mut impl Sink, mut value: u64) {
    let (mut written, mut length) = ([0; 10], 0);
    for byte in &mut written {
        let low = u8::try_from(value & 0x7f).unwrap_or(0);
        value >>= 7;
        length += 1;
        if value == 0 {
            *byte = low;
            break;
        }
        *byte = low | 0x80;
    }
    sink.put(&written[..length]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &'static [u8]) -> Result<u64, DecodeError> {
        let root = Bytes::from_static(bytes);
        let field = Reader::new(&root).next()?;
        field.unwrap().number()
    }

    #[test]
    fn numbers_of_every_length() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut written = BytesMut::new();
                written.number(1, value);
                let root = written.freeze();
                let field = Reader::new(&root).next().unwrap().unwrap();
                assert_eq!(field.number(), Ok(value));
            }
        }
    }

    #[test]
    fn broken_fields_are_errors() {
        assert_eq!(first(b"\x08"), Err(DecodeError::Truncated));
        assert_eq!(first(b"\x08\xff"), Err(DecodeError::Truncated));
        assert_eq!(
            first(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
            Err(DecodeError::Varint)
        );
        assert_eq!(first(b"\x00\x01"), Err(DecodeError::Tag), "field 0");
        assert_eq!(first(b"\x0b"), Err(DecodeError::Tag), "a group");
        assert_eq!(first(b"\x0a\x05abc"), Err(DecodeError::Truncated));
        assert_eq!(
            first(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01abc"),
            Err(DecodeError::Truncated)
        );
        assert_eq!(first(b"\x0d\x01\x01\x01"), Err(DecodeError::Truncated));
        assert_eq!(first(b"\x0a\x00"), Err(DecodeError::WrongType { field: 1 }));
    }
}
