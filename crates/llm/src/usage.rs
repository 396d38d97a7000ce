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

/// Greater counts are taken for garbage, so that sums over requests do not overflow.
const MAX_COUNT: u64 = u32::MAX as u64;

// === impl Usage ===

impl Usage {
    /// Takes over each count that `later` has. Counts are cumulative, so none is added.
    pub fn merge(&mut self, later: Self) {
        self.prompt = later.prompt.or(self.prompt);
        self.completion = later.completion.or(self.completion);
        self.cached = later.cached.or(self.cached);
    }

    /// The counts of a `usage` object of the OpenAI, Responses or Anthropic shape.
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
                b"cache_read_input_tokens" => cache_read = count(value),
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
    /// `message`'s.
    ///
    /// What stands before an error in the JSON is read, so a part of a document does too.
    #[must_use]
    pub fn from_document(json: &[u8]) -> Option<Self> {
        memchr::memmem::find(json, NAME)?;
        let mut found = Self::default();
        let mut read = |json: &[u8], value| {
            if let Some(usage) = Self::from_object(value_of(json, value)) {
                found.merge(usage);
            }
        };
        let mut nested = None;
        // The return value tells nothing that is of use here.
        let _ = walk::members(json, |member| match &json[member.key] {
            b"usage" => read(json, member.value),
            b"response" | b"message" => nested = Some(member.value),
            _ => {}
        });
        if let Some(nested) = nested {
            let inner = &json[nested];
            let _ = walk::members(inner, |member| {
                if &inner[member.key] == b"usage" {
                    read(inner, member.value);
                }
            });
        }
        (found != Self::default()).then_some(found)
    }

    /// The usage at the top level of a document of which only the end is known.
    #[must_use]
    pub fn from_tail(json: &[u8]) -> Option<Self> {
        // Forward search is vectorised, backward search is not.
        let mut starts: SmallVec<[usize; TAIL_CANDIDATES]> = SmallVec::new();
        for start in memchr::memmem::find_iter(json, NAME) {
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
            let rest = json[start + NAME.len()..].trim_ascii_start();
            let rest = rest.strip_prefix(b":")?.trim_ascii_start();
            Self::from_object(&rest[walk::last_value(rest)?])
        })
    }
}

/// A tail that has the name more often is not a response: bounds the work.
const TAIL_CANDIDATES: usize = 16;

const NAME: &[u8] = b"\"usage\"";

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
        let read = |tail: &str| Usage::from_tail(tail.as_bytes());
        assert_eq!(
            read(r#"0.5]}],"usage":{"prompt_tokens":7},"x":[{}]} "#),
            want
        );
        assert_eq!(read(r#"0.5]}], "usage" : {"prompt_tokens":7}}"#), want);
        assert_eq!(read(r#"1,{"usage":{"prompt_tokens":7}}]}"#), None);
        assert_eq!(read(r#"\"usage\":{\"prompt_tokens\":7}"}"#), None);
        assert_eq!(read(r#""usage":{"prompt_tokens":7"#), None);
    }
}
