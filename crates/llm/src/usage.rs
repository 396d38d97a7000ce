//! Token usage as model servers report it.

use smallvec::SmallVec;

use crate::fields::whole;
use crate::walk;

/// Tokens of a request as the model server counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: Option<u64>,
    /// Tokens of the answer.
    pub completion: Option<u64>,
    /// Tokens of the prompt that came from a cache.
    pub cached: Option<u64>,
}

/// The field of a response that has its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// `usage`, of OpenAI's and Anthropic's APIs.
    Usage,
    /// `meta_info`, of SGLang's own.
    MetaInfo,
}

/// Greater counts are taken for garbage, so that sums over requests do not overflow.
const MAX_COUNT: u64 = u32::MAX as u64;

// === impl Counts ===

impl Counts {
    /// The field's name in its quotes.
    const fn name(self) -> &'static [u8] {
        match self {
            Self::Usage => b"\"usage\"",
            Self::MetaInfo => b"\"meta_info\"",
        }
    }

    fn is(self, key: &[u8]) -> bool {
        matches!(self.name(), [b'"', name @ .., b'"'] if name == key)
    }
}

// === impl Usage ===

impl Usage {
    /// Takes over each count that `later` has. Counts are cumulative, so none is added.
    pub fn merge(&mut self, later: Self) {
        self.prompt = later.prompt.or(self.prompt);
        self.completion = later.completion.or(self.completion);
        self.cached = later.cached.or(self.cached);
    }

    /// The counts of an object of the OpenAI, Responses, Anthropic or SGLang shape.
    ///
    /// A count may be a string of digits; anything else that is no count is absent. `None` if
    /// nothing is left.
    #[must_use]
    pub fn from_object(json: &[u8]) -> Option<Self> {
        let mut usage = Self::default();
        let (mut input, mut output, mut cache_read) = (None, None, None);
        let read = walk::members(json, |member| {
            let value = &json[member.value];
            match &json[member.key] {
                b"prompt_tokens" => usage.prompt = count(value),
                b"input_tokens" => input = count(value),
                b"completion_tokens" => usage.completion = count(value),
                b"output_tokens" => output = count(value),
                b"prompt_tokens_details" | b"input_tokens_details" => {
                    usage.cached = cached(value).or(usage.cached);
                }
                b"cache_read_input_tokens" | b"cached_tokens" => cache_read = count(value),
                _ => {}
            }
        });
        read.ok()?;
        usage.prompt = usage.prompt.or(input);
        usage.completion = usage.completion.or(output);
        usage.cached = usage.cached.or(cache_read);
        (usage != Self::default()).then_some(usage)
    }

    /// The usage of a response or of an event's data: its own, its `response`'s or its
    /// `message`'s. Of an array, which answers several prompts, the sum.
    ///
    /// What stands before an error in the JSON is read, so a part of a document does too.
    #[must_use]
    pub fn from_document(json: &[u8], counts: Counts) -> Option<Self> {
        memchr::memmem::find(json, counts.name())?;
        let mut found = Self::default();
        if json.trim_ascii_start().first() == Some(&b'[') {
            // The return value tells nothing that is of use here.
            let _ = walk::elements(json, |element| {
                let one = Self::from_object_with(value_of(json, element), counts);
                found.add(one);
            });
        } else {
            found = Self::from_object_with(json, counts);
        }
        (found != Self::default()).then_some(found)
    }

    /// The usage in the members of an object.
    fn from_object_with(json: &[u8], counts: Counts) -> Self {
        let mut found = Self::default();
        let mut read = |json: &[u8], value| {
            if let Some(usage) = Self::from_object(value_of(json, value)) {
                found.merge(usage);
            }
        };
        let mut nested = None;
        let _ = walk::members(json, |member| match &json[member.key] {
            key if counts.is(key) => read(json, member.value),
            b"response" | b"message" => nested = Some(member.value),
            _ => {}
        });
        if let Some(nested) = nested {
            let inner = &json[nested];
            let _ = walk::members(inner, |member| {
                if counts.is(&inner[member.key]) {
                    read(inner, member.value);
                }
            });
        }
        found
    }

    /// Adds the counts of another prompt's answer.
    fn add(&mut self, other: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.prompt = sum(self.prompt, other.prompt);
        self.completion = sum(self.completion, other.completion);
        self.cached = sum(self.cached, other.cached);
    }

    /// The usage at the top level of a document of which only the end is known.
    #[must_use]
    pub fn from_tail(json: &[u8], counts: Counts) -> Option<Self> {
        let name = counts.name();
        // Forward search is vectorised, backward search is not.
        let mut starts: SmallVec<[usize; TAIL_CANDIDATES]> = SmallVec::new();
        for start in memchr::memmem::find_iter(json, name) {
            if starts.len() == TAIL_CANDIDATES {
                starts.remove(0);
            }
            starts.push(start);
        }
        starts.into_iter().rev().find_map(|start| {
            let before = json[..start].trim_ascii_end().last();
            if !matches!(before, Some(b'{' | b',')) {
                return None;
            }
            let rest = json[start + name.len()..].trim_ascii_start();
            let rest = rest.strip_prefix(b":")?.trim_ascii_start();
            Self::from_object(&rest[walk::last_value(rest)?])
        })
    }
}

/// A tail that has the name more often is not a response: bounds the work.
const TAIL_CANDIDATES: usize = 16;

fn value_of(json: &[u8], range: std::ops::Range<usize>) -> &[u8] {
    json.get(range).unwrap_or_default()
}

fn cached(details: &[u8]) -> Option<u64> {
    let mut found = None;
    walk::members(details, |member| {
        if &details[member.key] == b"cached_tokens" {
            found = count(&details[member.value]);
        }
    })
    .ok()?;
    found
}

fn count(raw: &[u8]) -> Option<u64> {
    let digits = match raw {
        [b'"', digits @ .., b'"'] if digits.iter().all(u8::is_ascii_digit) => digits,
        _ => raw,
    };
    whole(digits).filter(|count| *count <= MAX_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn usage(prompt: Option<u64>, completion: Option<u64>, cached: Option<u64>) -> Usage {
        Usage {
            prompt,
            completion,
            cached,
        }
    }

    #[test]
    fn reads_each_shape() {
        for (json, want) in [
            (
                r#"{"prompt_tokens":7,"total_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}"#,
                usage(Some(7), Some(3), Some(4)),
            ),
            (
                r#"{"input_tokens":18,"input_tokens_details":{"cached_tokens":0,"x":[]},"output_tokens":8}"#,
                usage(Some(18), Some(8), Some(0)),
            ),
            (
                r#"{"input_tokens":9,"cache_read_input_tokens":1,"output_tokens":25}"#,
                usage(Some(9), Some(25), Some(1)),
            ),
        ] {
            assert_eq!(Usage::from_object(json.as_bytes()), Some(want), "{json}");
        }
    }

    #[test]
    fn garbage_is_absent() {
        for json in [
            r#""oops""#,
            "[]",
            "null",
            "{}",
            r#"{"prompt_tokens_details":0}"#,
            r#"{"prompt_tokens":-5}"#,
            r#"{"prompt_tokens":1e308}"#,
            r#"{"prompt_tokens":1.5}"#,
            r#"{"prompt_tokens":null}"#,
            r#"{"prompt_tokens":"-1"}"#,
            r#"{"prompt_tokens":""}"#,
            r#"{"prompt_tokens":99999999999999999999}"#,
            r#"{"prompt_tokens":18446744073709551615}"#,
            r#"{"prompt_tokens":[1]}"#,
        ] {
            assert_eq!(Usage::from_object(json.as_bytes()), None, "{json}");
        }
        assert_eq!(
            Usage::from_object(br#"{"prompt_tokens":"1024","completion_tokens":-1}"#),
            Some(usage(Some(1024), None, None))
        );
    }

    #[test]
    fn merge_replaces_and_never_adds() {
        let mut all = usage(Some(9), Some(1), Some(1));
        all.merge(usage(None, Some(25), None));
        assert_eq!(all, usage(Some(9), Some(25), Some(1)));
        all.merge(usage(Some(9), Some(25), Some(1)));
        assert_eq!(all, usage(Some(9), Some(25), Some(1)));
    }

    #[test]
    fn a_tail_is_read_at_its_top_level_only() {
        let want = Some(usage(Some(7), None, None));
        let read = |tail: &str| Usage::from_tail(tail.as_bytes(), Counts::Usage);
        assert_eq!(
            read(r#"0.5]}],"usage":{"prompt_tokens":7},"x":[{}]} "#),
            want
        );
        assert_eq!(read(r#"0.5]}], "usage" : {"prompt_tokens":7}}"#), want);
        assert_eq!(read(r#"1,{"usage":{"prompt_tokens":7}}]}"#), None);
        assert_eq!(read(r#"\"usage\":{\"prompt_tokens\":7}"}"#), None);
        assert_eq!(read(r#""usage":{"prompt_tokens":7"#), None);
    }

    #[test]
    fn sglang_has_its_counts_in_another_place() {
        let document = r#"{"text":"\"usage\"","meta_info":{"id":"x","finish_reason":{"type":"stop"},"prompt_tokens":5,"completion_tokens":2,"cached_tokens":4}}"#;
        let want = Some(usage(Some(5), Some(2), Some(4)));
        let read = |json: &str| Usage::from_document(json.as_bytes(), Counts::MetaInfo);
        assert_eq!(read(document), want);
        let tail = &document.as_bytes()[12..];
        assert_eq!(Usage::from_tail(tail, Counts::MetaInfo), want);
        assert_eq!(
            Usage::from_document(document.as_bytes(), Counts::Usage),
            None
        );
        let twice = format!("[{document}, {document}]");
        assert_eq!(read(&twice), Some(usage(Some(10), Some(4), Some(8))));
    }
}
