//! The fields of a request body that routing, picking and rewriting read, found in one pass.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::api_kind::ApiKind;
use crate::walk::{self, ScanError};

/// A top-level field of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// `model`
    Model,
    /// `messages`
    Messages,
    /// `prompt`
    Prompt,
    /// `input`
    Input,
    /// `tools`
    Tools,
    /// `system`
    System,
    /// `instructions`
    Instructions,
    /// `items`
    Items,
    /// `token_ids`
    TokenIds,
    /// `stream`
    Stream,
    /// `max_tokens`
    MaxTokens,
    /// `max_completion_tokens`
    MaxCompletionTokens,
    /// `max_output_tokens`
    MaxOutputTokens,
    /// `sampling_params`
    SamplingParams,
    /// `cache_salt`
    CacheSalt,
    /// `documents`
    Documents,
    /// `text`
    Text,
    /// `input_ids`
    InputIds,
    /// `extra_key`
    ExtraKey,
}

/// Where the top-level fields of a JSON body are.
///
/// Of a field that is there more than once the last counts, as in the JSON parsers of the engines:
/// routing, rewriting and the engine then agree. Field names are case-sensitive. Values are checked
/// no further than their brackets and quotes; the engine that gets the body parses it whole.
#[derive(Debug, Clone)]
pub struct Fields {
    body: Bytes,
    /// By [`Field`]; an empty range for a field that is absent, as no value is empty.
    ranges: [Range<usize>; FIELDS],
    /// Behind the brace that opens the body.
    inside: usize,
    /// The model's name, if it is written with escapes.
    model: Option<Box<str>>,
}

/// What a body says about its model. Ranges are what [`splice`](crate::splice) replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelField<'a> {
    /// No `model`, or one that is `null` or the empty string.
    Missing {
        /// The value to replace; empty, behind the opening brace, if there is no such field.
        insert: Range<usize>,
    },
    /// A number, a boolean, an array or an object.
    NotAString,
    /// A name.
    Name {
        /// Unescaped.
        name: &'a str,
        /// The value with its quotes.
        range: Range<usize>,
    },
}

const FIELDS: usize = 19;

// === impl Field ===

impl Field {
    fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"model" => Self::Model,
            b"messages" => Self::Messages,
            b"prompt" => Self::Prompt,
            b"input" => Self::Input,
            b"tools" => Self::Tools,
            b"system" => Self::System,
            b"instructions" => Self::Instructions,
            b"items" => Self::Items,
            b"token_ids" => Self::TokenIds,
            b"stream" => Self::Stream,
            b"max_tokens" => Self::MaxTokens,
            b"max_completion_tokens" => Self::MaxCompletionTokens,
            b"max_output_tokens" => Self::MaxOutputTokens,
            b"sampling_params" => Self::SamplingParams,
            b"cache_salt" => Self::CacheSalt,
            b"documents" => Self::Documents,
            b"text" => Self::Text,
            b"input_ids" => Self::InputIds,
            b"extra_key" => Self::ExtraKey,
            _ => return None,
        })
    }

    /// The field that a name, as written between its quotes, stands for.
    fn from_written(name: &[u8]) -> Option<Self> {
        if name.contains(&b'\\') {
            return Self::from_name(unescape(&quoted(name))?.as_bytes());
        }
        Self::from_name(name)
    }
}

// === impl Fields ===

impl Fields {
    /// Finds the fields of `body` in one pass.
    ///
    /// # Errors
    /// [`ScanError`] if the body is not one JSON object in UTF-8.
    pub fn scan(body: Bytes) -> Result<Self, ScanError> {
        std::str::from_utf8(&body).map_err(|_| ScanError::NotUtf8)?;
        let mut ranges = [const { 0..0 }; FIELDS];
        walk::members(&body, |member| {
            if let Some(field) = Field::from_written(&body[member.key]) {
                ranges[field as usize] = member.value;
            }
        })?;
        let inside = body.iter().position(|byte| *byte == b'{').unwrap_or(0) + 1;
        let mut fields = Self {
            body,
            ranges,
            inside,
            model: None,
        };
        fields.model = fields.escaped_model()?;
        Ok(fields)
    }

    /// The body.
    #[must_use]
    pub const fn bytes(&self) -> &Bytes {
        &self.body
    }

    /// The model that the body names.
    #[must_use]
    pub fn model(&self) -> ModelField<'_> {
        let range = self.ranges[Field::Model as usize].clone();
        match self.raw(Field::Model) {
            None => ModelField::Missing {
                insert: self.inside..self.inside,
            },
            Some(b"null" | b"\"\"") => ModelField::Missing { insert: range },
            Some([b'"', name @ .., b'"']) => {
                let written = || std::str::from_utf8(name).unwrap_or_default();
                ModelField::Name {
                    name: self.model.as_deref().unwrap_or_else(written),
                    range,
                }
            }
            Some(_) => ModelField::NotAString,
        }
    }

    /// Whether a stream is asked for: `stream` is exactly `true`.
    ///
    /// The response decides how it is read, not this: an error is sent whole in either case.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.raw(Field::Stream) == Some(b"true")
    }

    /// Most tokens that the answer may have, by the fields that `kind` knows.
    ///
    /// Of several the first that holds a whole number of at least 0 counts.
    #[must_use]
    pub fn max_tokens(&self, kind: ApiKind) -> Option<u64> {
        let first = |fields: &[Field]| {
            let mut values = fields.iter().filter_map(|field| self.raw(*field));
            values.find_map(whole)
        };
        match kind {
            ApiKind::ChatCompletions | ApiKind::VertexChat => {
                first(&[Field::MaxCompletionTokens, Field::MaxTokens])
            }
            ApiKind::Completions | ApiKind::Messages => first(&[Field::MaxTokens]),
            ApiKind::Responses | ApiKind::VertexRawPredict | ApiKind::VertexStreamRawPredict => {
                first(&[Field::MaxOutputTokens])
            }
            ApiKind::Generate => self.sampling_param(b"max_tokens"),
            ApiKind::SglangGenerate => self.sampling_param(b"max_new_tokens"),
            ApiKind::Embeddings
            | ApiKind::Conversations
            | ApiKind::Images
            | ApiKind::CountTokens
            | ApiKind::VllmGrpcGenerate
            | ApiKind::VllmGrpcEmbed
            | ApiKind::Opaque => None,
        }
    }

    /// A count among the `sampling_params`.
    fn sampling_param(&self, name: &[u8]) -> Option<u64> {
        let params = self.raw(Field::SamplingParams)?;
        let mut found = None;
        walk::members(params, |member| {
            if &params[member.key] == name {
                found = whole(&params[member.value]);
            }
        })
        .ok()?;
        found
    }

    /// What sets this request's prefixes apart from those of others; `None` unless a string.
    #[must_use]
    pub fn cache_salt(&self) -> Option<Cow<'_, str>> {
        self.string(Field::CacheSalt)
    }

    /// The same by the name that SGLang has for it.
    #[must_use]
    pub fn extra_key(&self) -> Option<Cow<'_, str>> {
        self.string(Field::ExtraKey)
    }

    fn string(&self, field: Field) -> Option<Cow<'_, str>> {
        let raw = self.raw(field)?;
        match serde_json::from_slice::<&str>(raw) {
            Ok(text) => Some(Cow::Borrowed(text)),
            Err(_) => unescape(raw).map(Cow::Owned),
        }
    }

    /// The value of `field` as written, without blanks around it.
    #[must_use]
    pub fn raw(&self, field: Field) -> Option<&[u8]> {
        Some(&self.body[self.range(field)?])
    }

    /// Where the value of `field` is.
    #[must_use]
    pub fn range(&self, field: Field) -> Option<Range<usize>> {
        let range = &self.ranges[field as usize];
        (!range.is_empty()).then(|| range.clone())
    }

    /// The unescaped model, if it has escapes.
    fn escaped_model(&self) -> Result<Option<Box<str>>, ScanError> {
        let Some(raw @ [b'"', ..]) = self.raw(Field::Model) else {
            return Ok(None);
        };
        if serde_json::from_slice::<&str>(raw).is_ok() {
            return Ok(None);
        }
        let at = self.ranges[Field::Model as usize].start;
        let name = unescape(raw).ok_or(ScanError::InvalidString { at })?;
        Ok(Some(name.into_boxed_str()))
    }
}

/// A number that is whole and not negative.
pub(crate) fn whole(raw: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(raw).ok()?;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if !raw.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
        return None;
    }
    // Whole numbers up to this one are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number: f64 = text.parse().ok()?;
    let whole = number.fract() == 0.0 && (0.0..=EXACT).contains(&number);
    whole.then_some(number as u64)
}

fn quoted(name: &[u8]) -> Vec<u8> {
    [b"\"", name, b"\""].concat()
}

fn unescape(raw: &[u8]) -> Option<String> {
    serde_json::from_slice(raw).ok()
}

#[cfg(test)]
mod tests;
