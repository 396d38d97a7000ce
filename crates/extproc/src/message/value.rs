//! `google.protobuf.Struct`: values in the form of JSON.

use crate::wire::{DecodeError, Encode, Reader, Sink};

/// Deepest nesting of values that is read. The stack must not depend on what a peer sends.
pub const MAX_DEPTH: usize = 32;

/// `google.protobuf.Struct`: names with values, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Struct(pub Vec<(String, Value)>);

/// `google.protobuf.Value`.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// Nothing, also where no kind of value is set.
    #[default]
    Null,
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// A truth.
    Bool(bool),
    /// Named values.
    Struct(Struct),
    /// Values in order.
    List(Vec<Value>),
}

/// An entry of a map from text to messages.
struct Entry<'a, V>(&'a str, &'a V);

struct List<'a>(&'a [Value]);

// === impl Struct ===

impl Struct {
    /// One name with its value.
    #[must_use]
    pub fn of(name: impl Into<String>, value: Value) -> Self {
        Self(vec![(name.into(), value)])
    }

    /// The value of `name`; of several the last, as in any map of protocol buffers.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        last(&self.0, name)
    }

    pub(crate) fn decode(mut reader: Reader<'_>, depth: usize) -> Result<Self, DecodeError> {
        let mut fields = Vec::new();
        while let Some(field) = reader.next()? {
            if field.number == 1 {
                fields.push(entry(field.message()?, |value| {
                    Value::decode(value, depth)
                })?);
            }
        }
        Ok(Self(fields))
    }
}

impl Encode for Struct {
    fn fields(&self, sink: &mut impl Sink) {
        entries(1, &self.0, sink);
    }
}

// === impl Value ===

impl Value {
    fn decode(mut reader: Reader<'_>, depth: usize) -> Result<Self, DecodeError> {
        if depth >= MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
        let mut value = Self::Null;
        while let Some(field) = reader.next()? {
            value = match field.number {
                1 => {
                    field.number()?;
                    Self::Null
                }
                2 => Self::Number(field.double()?),
                3 => Self::Text(field.text()?.to_owned()),
                4 => Self::Bool(field.flag()?),
                5 => Self::Struct(Struct::decode(field.message()?, depth + 1)?),
                6 => Self::List(list(field.message()?, depth + 1)?),
                _ => continue,
            };
        }
        Ok(value)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Encode for Value {
    fn fields(&self, sink: &mut impl Sink) {
        match self {
            Self::Null => sink.number(1, 0),
            Self::Number(number) => sink.double(2, *number),
            Self::Text(text) => sink.bytes(3, text.as_bytes()),
            Self::Bool(truth) => sink.number(4, u64::from(*truth)),
            Self::Struct(fields) => sink.message(5, fields),
            Self::List(values) => sink.message(6, &List(values)),
        }
    }
}

fn list(mut reader: Reader<'_>, depth: usize) -> Result<Vec<Value>, DecodeError> {
    let mut values = Vec::new();
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            values.push(Value::decode(field.message()?, depth)?);
        }
    }
    Ok(values)
}

impl Encode for List<'_> {
    fn fields(&self, sink: &mut impl Sink) {
        self.0.iter().for_each(|value| sink.message(1, value));
    }
}

// === impl Entry ===

impl<V: Encode> Encode for Entry<'_, V> {
    fn fields(&self, sink: &mut impl Sink) {
        sink.bytes_or_default(1, self.0.as_bytes());
        sink.message(2, self.1);
    }
}

/// Writes a map.
pub(super) fn entries<V: Encode>(field: u32, map: &[(String, V)], sink: &mut impl Sink) {
    for (name, value) in map {
        sink.message(field, &Entry(name, value));
    }
}

/// Reads an entry of a map.
pub(super) fn entry<V: Default>(
    mut reader: Reader<'_>,
    decode: impl Fn(Reader<'_>) -> Result<V, DecodeError>,
) -> Result<(String, V), DecodeError> {
    let mut entry = <(String, V)>::default();
    while let Some(field) = reader.next()? {
        match field.number {
            1 => field.text()?.clone_into(&mut entry.0),
            2 => entry.1 = decode(field.message()?)?,
            _ => {}
        }
    }
    Ok(entry)
}

/// The value of `name` in a map.
pub(super) fn last<'a, V>(map: &'a [(String, V)], name: &str) -> Option<&'a V> {
    let mut backwards = map.iter().rev();
    let found = backwards.find(|(other, _)| other == name);
    found.map(|(_, value)| value)
}
