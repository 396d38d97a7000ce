//! What a sequence will say: text and length.

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::latency::normal;
use crate::tokenizer;

/// The output of one sequence, known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) tokens: Vec<Token>,
    /// `stop` or `length`.
    pub(crate) finish: &'static str,
}

/// One output token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) id: u32,
}

/// Limits of the length of a drawn output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// `max_tokens` of the request.
    pub(crate) max_tokens: Option<usize>,
    /// Tokens left in the context window after the prompt; at least 1.
    pub(crate) room: usize,
    /// Generate exactly up to the limit.
    pub(crate) ignore_eos: bool,
}

const WORDS: &[&str] = &[
    " the", " a", " court", " lease", " model", " answer", " is", " was", " of", " and", " to",
    " in", " that", " it", " with", " for", " as", " on", " at", " by", " one", " two", " small",
    " large", " green", " river", " stone", " paper", " under", " over", " slowly", " again",
    " water", " light", " house", " tenant", " owner", " year", " month", " day", " after",
    " before", " when", " where", " which", ",", ".",
];

/// Upper ends, in percent, of the six buckets of an output length under `max_tokens`.
const BUCKET_ENDS: [u32; 6] = [20, 50, 70, 75, 85, 100];

/// Up to this `max_tokens` the six buckets are of equal width.
const EQUAL_BUCKETS_UP_TO: usize = 120;

/// Width of all buckets but the fourth above that.
const BUCKET_WIDTH: usize = 20;

/// Mean and deviation of a length without `max_tokens`.
const FREE_LENGTH: (f64, f64) = (40.0, 20.0);

/// With less room than this, a length without `max_tokens` is uniform.
const FREE_ROOM: usize = 20;

// === impl Plan ===

impl Plan {
    /// Words of a fixed list, with a drawn length.
    pub(crate) fn random(bounds: Bounds, rng: &mut impl Rng) -> Self {
        let (len, finish) = length(bounds, rng);
        let tokens = (0..len)
            .map(|_| Token::of(WORDS.choose(rng).unwrap_or(&" the")))
            .collect();
        Self { tokens, finish }
    }

    /// The tokens of `text`, whatever the request's limit.
    pub(crate) fn echo(text: &str) -> Self {
        let mut tokens: Vec<Token> = tokenizer::split(text).into_iter().map(Token::of).collect();
        if tokens.is_empty() {
            // An answer has at least one token, which carries the finish reason.
            tokens.push(Token::of(""));
        }
        Self {
            tokens,
            finish: "stop",
        }
    }

    /// Token ids as they are.
    pub(crate) fn echo_ids(ids: &[u32]) -> Self {
        let tokens = ids
            .iter()
            .map(|id| Token {
                text: format!(" t{id}"),
                id: *id,
            })
            .collect();
        Self {
            tokens,
            finish: "stop",
        }
    }
}

// === impl Token ===

impl Token {
    fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            id: tokenizer::id(text),
        }
    }
}

/// Draws an output length and the reason it ends.
fn length(bounds: Bounds, rng: &mut impl Rng) -> (usize, &'static str) {
    let room = bounds.room.max(1);
    let limit = bounds.max_tokens.unwrap_or(room).clamp(1, room);
    let len = match bounds.max_tokens {
        _ if bounds.ignore_eos => limit,
        Some(_) => bucketed(limit, rng),
        None if room < FREE_ROOM => rng.random_range(1..=room),
        None => (FREE_LENGTH.0 + FREE_LENGTH.1 * normal(rng))
            .round()
            .clamp(1.0, room as f64) as usize,
    };
    (len, if len == limit { "length" } else { "stop" })
}

fn bucketed(limit: usize, rng: &mut impl Rng) -> usize {
    let draw = rng.random_range(0..100);
    let bucket = BUCKET_ENDS.iter().position(|end| draw < *end).unwrap_or(5);
    let (below, upto) = bucket_range(limit, bucket);
    // A limit under six leaves some buckets empty; they give their upper end.
    if upto > below {
        rng.random_range(below + 1..=upto)
    } else {
        upto.max(1)
    }
}

/// The lengths of a bucket, as (exclusive, inclusive) ends.
fn bucket_range(limit: usize, bucket: usize) -> (usize, usize) {
    let end = |count: usize| {
        if limit <= EQUAL_BUCKETS_UP_TO {
            limit * count / 6
        } else if count <= 3 {
            count * BUCKET_WIDTH
        } else {
            limit - (6 - count) * BUCKET_WIDTH
        }
    };
    (end(bucket), end(bucket + 1))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;

    fn bounds(max_tokens: Option<usize>, room: usize) -> Bounds {
        Bounds {
            max_tokens,
            room,
            ignore_eos: false,
        }
    }

    #[test]
    fn buckets_cover_the_range() {
        for limit in [1, 5, 6, 60, 120, 121, 500] {
            let ranges: Vec<_> = (0..6).map(|bucket| bucket_range(limit, bucket)).collect();
            assert_eq!((ranges[0].0, ranges[5].1), (0, limit));
            assert!(
                ranges.windows(2).all(|pair| pair[0].1 == pair[1].0),
                "{limit}"
            );
        }
        assert_eq!(bucket_range(500, 3), (60, 460));
        assert_eq!(bucket_range(60, 1), (10, 20));
    }

    #[test]
    fn lengths_follow_the_histogram() {
        for limit in [60, 500] {
            let mut rng = StdRng::seed_from_u64(3);
            let mut counts = [0_u32; 6];
            for _ in 0..20_000 {
                let (len, finish) = length(bounds(Some(limit), 10_000), &mut rng);
                assert!((1..=limit).contains(&len));
                assert_eq!(finish == "length", len == limit);
                let bucket = (0..6)
                    .find(|bucket| len <= bucket_range(limit, *bucket).1)
                    .unwrap();
                counts[bucket] += 1;
            }
            for (count, percent) in counts.iter().zip([20, 30, 20, 5, 10, 15]) {
                assert!(count.abs_diff(percent * 200) < 300, "{limit}: {counts:?}");
            }
        }
    }

    #[test]
    fn lengths_without_a_limit_are_around_forty() {
        let mut rng = StdRng::seed_from_u64(3);
        let lens: Vec<usize> = (0..10_000)
            .map(|_| length(bounds(None, 1000), &mut rng).0)
            .collect();
        let mean = lens.iter().sum::<usize>() as f64 / lens.len() as f64;
        assert!((mean - 40.2).abs() < 1.0, "{mean}");
        let mut tight = (0..1000).map(|_| length(bounds(None, 7), &mut rng).0);
        assert!(tight.all(|len| (1..=7).contains(&len)));
    }

    #[test]
    fn ignore_eos_gives_the_limit() {
        let mut rng = StdRng::seed_from_u64(3);
        let exact = Bounds {
            ignore_eos: true,
            ..bounds(Some(17), 100)
        };
        assert_eq!(length(exact, &mut rng), (17, "length"));
        let plan = Plan::random(exact, &mut rng);
        assert_eq!((plan.tokens.len(), plan.finish), (17, "length"));
    }

    #[test]
    fn a_seed_repeats_the_text() {
        let plan = |seed| Plan::random(bounds(Some(50), 100), &mut StdRng::seed_from_u64(seed));
        assert_eq!(plan(5), plan(5));
        assert_ne!(plan(5), plan(6));
    }

    #[test]
    fn echo_says_the_text() {
        let text = "전세 계약, please!";
        let said: String = Plan::echo(text)
            .tokens
            .into_iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(said, text);
    }
}
