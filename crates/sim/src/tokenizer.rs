//! A deterministic tokenizer that needs no vocabulary.
//!
//! A token is a run of at most [`MAX_WORD`] ASCII letters or digits with the space before it, or
//! any other single character. Its id is a hash of its text, so equal prefixes of two texts give
//! equal ids, which is all the prefix cache needs.

/// Longest run of letters or digits in one token; longer words become several tokens.
const MAX_WORD: usize = 12;

/// Ids are below this, about the size of a current vocabulary.
const VOCABULARY: u32 = 128_000;

/// Splits `text` into tokens; their concatenation is `text`.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(bytes.len() / 5 + 1);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let lead = usize::from(first == ' ');
        let word = word_len(rest.as_bytes().get(lead..).unwrap_or_default());
        let len = if word == 0 {
            first.len_utf8()
        } else {
            lead + word
        };
        let (token, tail) = rest.split_at(len);
        tokens.push(token);
        rest = tail;
    }
    tokens
}

/// Ids of the tokens of `text`.
pub(crate) fn encode(text: &str) -> Vec<u32> {
    split(text).into_iter().map(id).collect()
}

/// Id of one token.
pub(crate) fn id(token: &str) -> u32 {
    fnv1a(token.as_bytes()) % VOCABULARY
}

fn word_len(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(MAX_WORD)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count()
}

fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_the_space_before_them() {
        assert_eq!(
            split("Hello, big  world!"),
            ["Hello", ",", " big", " ", " world", "!"]
        );
        assert_eq!(split(" "), [" "]);
        assert!(split("").is_empty());
    }

    #[test]
    fn tokens_concatenate_to_the_text() {
        for text in [
            "전세 계약이 무엇인가요? ",
            "Grüße, 世界! 🙂\n\ta1b2",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaa b",
        ] {
            assert_eq!(split(text).concat(), text);
        }
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(split(&"a".repeat(25)).len(), 3);
    }

    #[test]
    fn ids_are_those_of_fnv1a() {
        // Published test vectors of the 32-bit FNV-1a.
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
        let (left, right) = (encode("same start one"), encode("same start two"));
        assert_eq!(left[..2], right[..2]);
        assert_ne!(left[2], right[2]);
    }
}
