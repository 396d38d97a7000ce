//! Walks over the fields of a protobuf message without decoding those that nobody wants.
//!
//! What is in a message stays where it is: a field of bytes is a range of the body that the message
//! came in. No recursion: whoever wants a nested message walks over its range.

use std::ops::Range;

/// The bytes are not a protobuf message. Groups, which proto3 does not have, count as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// An integer, a boolean or an enum.
    Number(u64),
    /// A string, bytes, a message or packed numbers; a range of the body.
    Bytes(Range<usize>),
    /// A number of fixed width.
    Fixed,
}

/// Calls `each` with number and value of the fields of the message at `at` in `body`, in order.
pub(crate) fn fields(
    body: &[u8],
    at: Range<usize>,
    mut each: impl FnMut(u64, Value),
) -> Result<(), Malformed> {
    let end = at.end;
    let message = body.get(..end).ok_or(Malformed)?;
    let mut next = at.start;
    while next < end {
        let tag = varint(message, &mut next)?;
        let (number, wire_type) = (tag >> 3, tag & 7);
        if !(1..1 << 29).contains(&number) {
            return Err(Malformed);
        }
        let value = match wire_type {
            0 => Value::Number(varint(message, &mut next)?),
            1 => fixed(8, &mut next),
            2 => {
                let len = usize::try_from(varint(message, &mut next)?).map_err(|_| Malformed)?;
                let start = next;
                next = start.checked_add(len).ok_or(Malformed)?;
                Value::Bytes(start..next)
            }
            5 => fixed(4, &mut next),
            _ => return Err(Malformed),
        };
        if next > end {
            return Err(Malformed);
        }
        each(number, value);
    }
    Ok(())
}

/// Appends the packed `uint32` values at `at` in `body` to `numbers`. Greater ones are cut to 32
/// bits, as the format has it.
pub(crate) fn packed(
    body: &[u8],
    at: Range<usize>,
    numbers: &mut Vec<u32>,
) -> Result<(), Malformed> {
    let packed = body.get(..at.end).ok_or(Malformed)?;
    let mut next = at.start;
    while next < packed.len() {
        numbers.push(varint(packed, &mut next)? as u32);
    }
    Ok(())
}

const fn fixed(width: usize, next: &mut usize) -> Value {
    *next += width;
    Value::Fixed
}

/// The number at `next`: seven bits a byte, the lowest first, the high bit set on all but the last.
fn varint(bytes: &[u8], next: &mut usize) -> Result<u64, Malformed> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*next).ok_or(Malformed)?;
        *next += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn varint_of(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    /// A field that holds a number.
    pub(crate) fn number(field: u64, value: u64) -> Vec<u8> {
        [varint_of(field << 3), varint_of(value)].concat()
    }

    /// A field that holds bytes.
    pub(crate) fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
        let len = varint_of(value.len() as u64);
        [varint_of(field << 3 | 2), len, value.to_vec()].concat()
    }

    fn read(message: &[u8]) -> Result<Vec<(u64, Value)>, Malformed> {
        let mut found = Vec::new();
        fields(message, 0..message.len(), |number, value| {
            found.push((number, value))
        })?;
        Ok(found)
    }

    #[test]
    fn each_kind_of_field_is_passed_right() {
        let message = [
            number(1, 300),
            bytes(2, b"ab"),
            vec![3 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8],
            vec![4 << 3 | 5, 1, 2, 3, 4],
            number(1000, u64::MAX),
        ]
        .concat();
        let want = [
            (1, Value::Number(300)),
            (2, Value::Bytes(5..7)),
            (3, Value::Fixed),
            (4, Value::Fixed),
            (1000, Value::Number(u64::MAX)),
        ];
        assert_eq!(read(&message).unwrap(), want);
        assert_eq!(read(b"").unwrap(), []);
    }

    #[test]
    fn what_is_no_message_is_told() {
        for message in [
            &b"\x08"[..],
            b"\x08\x80",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x12\x03ab",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x09\x01",
            b"\x0d\x01",
            b"\x00\x01",
            b"\x0b\x0c",
            b"\x0e",
        ] {
            assert_eq!(read(message), Err(Malformed), "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn packed_numbers_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..100)) {
            let packed_bytes: Vec<u8> = numbers.iter().flat_map(|one| varint_of(u64::from(*one))).collect();
            let mut found = Vec::new();
            packed(&packed_bytes, 0..packed_bytes.len(), &mut found).unwrap();
            prop_assert_eq!(found, numbers);
        }

        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut ends = 0;
            let read = fields(&bytes, 0..bytes.len(), |_, value| {
                if let Value::Bytes(range) = value {
                    assert!(range.start >= ends && range.end <= bytes.len());
                    ends = range.end;
                }
            });
            let _ = read;
            let _ = packed(&bytes, 0..bytes.len(), &mut Vec::new());
        }
    }
}
