//! Headers, trailers, and changes to them.

use bytes::Bytes;

use crate::wire::{DecodeError, Encode, Reader, Sink};

/// `envoy.config.core.v3.HeaderValue`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Name, in lower case when it comes from Envoy; pseudo-headers too, as `:path`.
    pub name: String,
    /// Value. Written as `raw_value`, which is read in preference to `value`.
    pub value: Bytes,
}

/// `HttpHeaders`: the head of a request or response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpHeaders {
    /// In the order in which they came.
    pub headers: Vec<Header>,
    /// Neither body nor trailers follow.
    pub end_of_stream: bool,
}

/// `HttpTrailers`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpTrailers {
    /// In the order in which they came.
    pub trailers: Vec<Header>,
}

/// `HeaderMutation`: changes to headers. Removals come first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeaderMutation {
    /// Headers to set.
    pub set: Vec<SetHeader>,
    /// Names of headers to remove.
    pub remove: Vec<String>,
}

/// `envoy.config.core.v3.HeaderValueOption`: a header to set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetHeader {
    /// Name and value.
    pub header: Header,
    /// The older switch: whether values that are there stay.
    pub append: Option<bool>,
    /// The newer one. Its default, which peers send who do not know it, must be read as an order to
    /// overwrite in this protocol: see [`SetHeader::overwrites`].
    pub action: AppendAction,
}

/// `HeaderAppendAction`, an open enumeration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AppendAction(pub u32);

/// `envoy.config.core.v3.HeaderMap`.
pub(super) struct HeaderMap<'a>(pub(super) &'a [Header]);

// === impl Header ===

impl Header {
    /// A header of this name and value.
    pub fn new(name: impl Into<String>, value: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }

    fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let (mut header, mut raw) = (Self::default(), Bytes::new());
        while let Some(field) = reader.next()? {
            match field.number {
                1 => field.text()?.clone_into(&mut header.name),
                2 => {
                    field.text()?;
                    header.value = field.bytes()?;
                }
                3 => raw = field.bytes()?,
                _ => {}
            }
        }
        if !raw.is_empty() {
            header.value = raw;
        }
        Ok(header)
    }
}

impl Encode for Header {
    fn fields(&self, sink: &mut impl Sink) {
        sink.bytes_or_default(1, self.name.as_bytes());
        sink.bytes_or_default(3, &self.value);
    }
}

// === impl HeaderMap ===

/// Reads an `envoy.config.core.v3.HeaderMap`.
pub(super) fn decode_map(mut reader: Reader<'_>) -> Result<Vec<Header>, DecodeError> {
    let mut headers = Vec::new();
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            headers.push(Header::decode(field.message()?)?);
        }
    }
    Ok(headers)
}

impl Encode for HeaderMap<'_> {
    fn fields(&self, sink: &mut impl Sink) {
        self.0.iter().for_each(|header| sink.message(1, header));
    }
}

// === impl HttpHeaders ===

impl HttpHeaders {
    /// The value of the first header of this name, which is in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Bytes> {
        let mut headers = self.headers.iter();
        let found = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| &header.value)
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut head = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => head.headers = decode_map(field.message()?)?,
                3 => head.end_of_stream = field.flag()?,
                _ => {}
            }
        }
        Ok(head)
    }
}

impl Encode for HttpHeaders {
    fn fields(&self, sink: &mut impl Sink) {
        sink.message(1, &HeaderMap(&self.headers));
        sink.flag(3, self.end_of_stream);
    }
}

// === impl HttpTrailers ===

impl HttpTrailers {
    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut trailers = Vec::new();
        while let Some(field) = reader.next()? {
            if field.number == 1 {
                trailers = decode_map(field.message()?)?;
            }
        }
        Ok(Self { trailers })
    }
}

impl Encode for HttpTrailers {
    fn fields(&self, sink: &mut impl Sink) {
        sink.message(1, &HeaderMap(&self.trailers));
    }
}

// === impl HeaderMutation ===

impl HeaderMutation {
    /// Sets a header in place of all values that it has.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Bytes>) {
        self.set.push(SetHeader {
            header: Header::new(name, value),
            append: None,
            action: AppendAction::OVERWRITE_IF_EXISTS_OR_ADD,
        });
    }

    /// Sets headers, each in place of all values that it has.
    pub fn set_all(&mut self, headers: &http::HeaderMap) {
        for name in headers.keys() {
            for (index, value) in headers.get_all(name).iter().enumerate() {
                self.set(name.as_str(), Bytes::copy_from_slice(value.as_bytes()));
                if let Some(set) = self.set.last_mut().filter(|_| index > 0) {
                    set.append = Some(true);
                    set.action = AppendAction::APPEND_IF_EXISTS_OR_ADD;
                }
            }
        }
    }

    /// Removes a header.
    pub fn remove(&mut self, name: impl Into<String>) {
        self.remove.push(name.into());
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut mutation = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => mutation.set.push(SetHeader::decode(field.message()?)?),
                2 => mutation.remove.push(field.text()?.to_owned()),
                _ => {}
            }
        }
        Ok(mutation)
    }
}

impl Encode for HeaderMutation {
    fn fields(&self, sink: &mut impl Sink) {
        self.set.iter().for_each(|set| sink.message(1, set));
        let remove = self.remove.iter();
        remove.for_each(|name| sink.bytes(2, name.as_bytes()));
    }
}

// === impl SetHeader ===

impl SetHeader {
    /// Whether values that are there go. By the protocol they do unless the peer says otherwise by
    /// `append`, or by an `append_action` that is not the default.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        match self.append {
            Some(append) => !append,
            None => self.action != AppendAction::ADD_IF_ABSENT,
        }
    }

    fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut set = Self::default();
        while let Some(field) = reader.next()? {
            match field.number {
                1 => set.header = Header::decode(field.message()?)?,
                2 => set.append = Some(wrapped_flag(field.message()?)?),
                3 => set.action = AppendAction(field.number32()?),
                _ => {}
            }
        }
        Ok(set)
    }
}

impl Encode for SetHeader {
    fn fields(&self, sink: &mut impl Sink) {
        sink.message(1, &self.header);
        if let Some(append) = self.append {
            sink.message(2, &Wrapped(append));
        }
        sink.number_or_default(3, u64::from(self.action.0));
    }
}

// === impl AppendAction ===

impl AppendAction {
    /// Adds a value to those that are there.
    pub const APPEND_IF_EXISTS_OR_ADD: Self = Self(0);
    /// Does nothing if there is a value.
    pub const ADD_IF_ABSENT: Self = Self(1);
    /// Replaces all values that are there.
    pub const OVERWRITE_IF_EXISTS_OR_ADD: Self = Self(2);
    /// Does nothing unless there is a value.
    pub const OVERWRITE_IF_EXISTS: Self = Self(3);
}

/// `google.protobuf.BoolValue`.
struct Wrapped(bool);

impl Encode for Wrapped {
    fn fields(&self, sink: &mut impl Sink) {
        sink.flag(1, self.0);
    }
}

fn wrapped_flag(mut reader: Reader<'_>) -> Result<bool, DecodeError> {
    let mut flag = false;
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            flag = field.flag()?;
        }
    }
    Ok(flag)
}
