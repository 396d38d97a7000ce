//! The prompts of a request, as far as prefix reuse and load estimates need them.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use crate::api_kind::ApiKind;
use crate::fields::{Field, Fields, whole};
use crate::parse::ParseError;
use crate::walk;

/// The prompts of a request. Prefixes never run from one prompt into the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompts {
    list: SmallVec<[Prompt; 1]>,
}

/// Byte ranges of a body, in the order in which the engine puts them before the model.
pub type TextRanges = SmallVec<[Range<usize>; 3]>;

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// Text that is not tokenised, as ranges of the body.
    ///
    /// Strings and arrays stand there without what closes them, so that a longer conversation
    /// starts with all the bytes of the shorter one. Images count with their bytes, URL or base64:
    /// other images are other prompts.
    Text(TextRanges),
    /// Token ids.
    Tokens(Vec<u32>),
}

/// Bytes of text that are taken for one token.
const BYTES_PER_TOKEN: u64 = 4;

// === impl Prompts ===

impl Prompts {
    /// The prompts of a request to the API `kind`.
    ///
    /// # Errors
    /// [`ParseError`] if the API's prompt is missing or of another shape. Messages, tools and items
    /// are not looked into: the engine does that.
    pub fn of(kind: ApiKind, fields: &Fields) -> Result<Self, ParseError> {
        match kind {
            ApiKind::ChatCompletions | ApiKind::VertexChat => {
                let missing = missing("chat completions", "valid messages field");
                let messages = array(fields, Field::Messages).ok_or(missing)?;
                Ok(Self::text(fields, &[Field::Tools], messages))
            }
            ApiKind::Messages => {
                let missing = missing("messages", "at least one message");
                let messages = array(fields, Field::Messages).ok_or(missing)?;
                Ok(Self::text(fields, &[Field::Tools, Field::System], messages))
            }
            ApiKind::Conversations => {
                let missing = missing("conversations", "items field");
                let items = array(fields, Field::Items).ok_or(missing)?;
                Ok(Self::text(fields, &[], items))
            }
            ApiKind::Responses | ApiKind::VertexRawPredict | ApiKind::VertexStreamRawPredict => {
                let missing = missing("responses", "input field");
                let input = present(fields, Field::Input).ok_or(missing)?;
                let front = [Field::Instructions, Field::Tools];
                Ok(Self::text(fields, &front, unclosed(fields, input)))
            }
            ApiKind::Completions => shapes("completions", "prompt", Field::Prompt, fields),
            ApiKind::Embeddings => Self::of_embeddings(fields),
            ApiKind::Generate => generate(fields),
            ApiKind::Images => match fields.raw(Field::Prompt) {
                // What an image is made from is not cached by prefix.
                Some([b'"', _, .., b'"']) => Ok(Self::default()),
                _ => Err(missing("images generations", "prompt field")),
            },
            ApiKind::SglangGenerate => sglang(fields),
            ApiKind::CountTokens
            | ApiKind::VllmGrpcGenerate
            | ApiKind::VllmGrpcEmbed
            | ApiKind::Opaque => Ok(Self::default()),
        }
    }

    /// The prompts in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Prompt> {
        self.list.iter()
    }

    /// How many prompts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tokens of all prompts together; see [`Prompt::token_estimate`].
    #[must_use]
    pub fn token_estimate(&self) -> u64 {
        self.iter().map(Prompt::token_estimate).sum()
    }

    /// Servers also embed conversations, which come as messages in place of the input.
    fn of_embeddings(fields: &Fields) -> Result<Self, ParseError> {
        if let (None, Some(messages)) = (
            present(fields, Field::Input),
            array(fields, Field::Messages),
        ) {
            return Ok(Self::text(fields, &[], messages));
        }
        shapes("embeddings", "input", Field::Input, fields)
    }

    fn text(fields: &Fields, front: &[Field], last: Range<usize>) -> Self {
        let front = front.iter().filter_map(|field| present(fields, *field));
        let ranges = front.chain([last]).collect();
        Self {
            list: smallvec![Prompt::Text(ranges)],
        }
    }
}

impl<'a> IntoIterator for &'a Prompts {
    type Item = &'a Prompt;
    type IntoIter = std::slice::Iter<'a, Prompt>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Prompt> for Prompts {
    fn from_iter<I: IntoIterator<Item = Prompt>>(prompts: I) -> Self {
        Self {
            list: prompts.into_iter().collect(),
        }
    }
}

// === impl Prompt ===

impl Prompt {
    /// Tokens of this prompt: exact for token ids, else a quarter of the bytes, rounded up.
    ///
    /// An image that is sent as base64 counts by its length, which is far more than the engine
    /// makes of it.
    #[must_use]
    pub fn token_estimate(&self) -> u64 {
        match self {
            Self::Text(ranges) => {
                let bytes: u64 = ranges.iter().map(|range| range.len() as u64).sum();
                bytes.div_ceil(BYTES_PER_TOKEN)
            }
            Self::Tokens(ids) => ids.len() as u64,
        }
    }
}

/// Where the value of `field` is, unless it is absent or null.
fn present(fields: &Fields, field: Field) -> Option<Range<usize>> {
    let range = fields.range(field)?;
    (fields.bytes()[range.clone()] != b"null"[..]).then_some(range)
}

/// The array in `field` without its closing bracket, if it has an element.
fn array(fields: &Fields, field: Field) -> Option<Range<usize>> {
    let range = fields.range(field)?;
    let [b'[', inner @ .., b']'] = &fields.bytes()[range.clone()] else {
        return None;
    };
    let empty = inner.iter().copied().all(walk::is_blank);
    (!empty).then(|| range.start..range.end - 1)
}

/// A string without its quotes, an array without its closing bracket.
fn unclosed(fields: &Fields, range: Range<usize>) -> Range<usize> {
    match fields.bytes()[range.start] {
        b'"' => range.start + 1..range.end - 1,
        b'[' => range.start..range.end - 1,
        _ => range,
    }
}

/// A string, an array of strings, an array of token ids, or an array of arrays of token ids.
fn shapes(
    api: &'static str,
    name: &'static str,
    field: Field,
    fields: &Fields,
) -> Result<Prompts, ParseError> {
    let invalid = || {
        let what = if field == Field::Prompt {
            "prompt field"
        } else {
            "input field"
        };
        missing(api, what)
    };
    let range = fields.range(field).ok_or_else(invalid)?;
    let raw = &fields.bytes()[range.clone()];
    if let [b'"', _, .., b'"'] = raw {
        return Ok(text_of(&range));
    }
    array(fields, field).ok_or_else(invalid)?;
    let mut kinds = [false; 3];
    let mut elements: SmallVec<[Range<usize>; 8]> = SmallVec::new();
    let numbers = matches!(first_inside(raw), Some(b'-' | b'0'..=b'9'));
    if numbers {
        return tokens(api, name, raw).map(|ids| Prompts::from_iter([Prompt::Tokens(ids)]));
    }
    walk::elements(raw, |element| {
        kinds[match raw[element.start] {
            b'"' => 0,
            b'[' => 1,
            _ => 2,
        }] = true;
        elements.push(element);
    })
    .map_err(|_| invalid())?;
    match kinds {
        [true, false, false] => Ok(elements
            .iter()
            .map(|element| {
                let start = range.start + element.start + 1;
                Prompt::Text(smallvec![start..range.start + element.end - 1])
            })
            .collect()),
        [false, true, false] => elements
            .into_iter()
            .map(|element| match tokens(api, name, &raw[element])? {
                ids if ids.is_empty() => Err(invalid()),
                ids => Ok(Prompt::Tokens(ids)),
            })
            .collect(),
        _ => Err(invalid()),
    }
}

fn text_of(string: &Range<usize>) -> Prompts {
    let inner = string.start + 1..string.end - 1;
    Prompts::from_iter([Prompt::Text(smallvec![inner])])
}

fn generate(fields: &Fields) -> Result<Prompts, ParseError> {
    const API: &str = "generate";
    let missing = missing(API, "non-empty token_ids field");
    if array(fields, Field::TokenIds).is_none() {
        return Err(missing);
    }
    let raw = fields.raw(Field::TokenIds).unwrap_or_default();
    let ids = tokens(API, "token_ids", raw)?;
    Ok(Prompts::from_iter([Prompt::Tokens(ids)]))
}

/// SGLang takes token ids or text, one prompt or several.
fn sglang(fields: &Fields) -> Result<Prompts, ParseError> {
    let key = present(fields, Field::ExtraKey);
    if key.is_some() && fields.extra_key().is_none() {
        return Err(ParseError::ExtraKey);
    }
    let wrong = |what| ParseError::InputIds { what };
    if present(fields, Field::InputIds).is_none() {
        let text = shapes("generate", "text", Field::Text, fields);
        let texts = text.ok().filter(|prompts| {
            prompts
                .iter()
                .all(|prompt| matches!(prompt, Prompt::Text(_)))
        });
        return texts.ok_or_else(|| wrong("must be provided"));
    }
    let raw = fields.raw(Field::InputIds).unwrap_or_default();
    if raw.first() == Some(&b'[') && array(fields, Field::InputIds).is_none() {
        return Err(wrong("cannot be empty"));
    }
    let ids = shapes("generate", "input_ids", Field::InputIds, fields);
    let ids = ids.ok().filter(|prompts| {
        prompts
            .iter()
            .all(|prompt| matches!(prompt, Prompt::Tokens(_)))
    });
    ids.ok_or_else(|| wrong("must be an array of uint32 integers"))
}

/// The token ids of an array.
fn tokens(api: &'static str, field: &'static str, raw: &[u8]) -> Result<Vec<u32>, ParseError> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if inner.iter().copied().all(walk::is_blank) {
        return Ok(Vec::new());
    }
    // No value of the expected kind has a comma in it.
    inner
        .split(|byte| *byte == b',')
        .enumerate()
        .map(|(index, written)| {
            let written = written.trim_ascii();
            token(written).ok_or_else(|| ParseError::TokenId {
                api,
                field,
                index,
                value: shown(written),
            })
        })
        .collect()
}

fn token(written: &[u8]) -> Option<u32> {
    // `str::parse` accepts a sign that JSON does not.
    if written.first() == Some(&b'+') {
        return None;
    }
    u32::try_from(whole(written)?).ok()
}

/// The start of a value, for an error text.
fn shown(written: &[u8]) -> String {
    const CHARS: usize = 32;
    String::from_utf8_lossy(written)
        .chars()
        .take(CHARS)
        .collect()
}

fn first_inside(array: &[u8]) -> Option<u8> {
    let inner = array.get(1..)?;
    inner.iter().copied().find(|byte| !walk::is_blank(*byte))
}

const fn missing(api: &'static str, what: &'static str) -> ParseError {
    ParseError::Invalid { api, what }
}

#[cfg(test)]
mod tests;
