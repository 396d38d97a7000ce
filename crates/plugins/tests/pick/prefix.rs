//! What counts as a shared prefix, and how much of it is remembered.

use serde_json::{Value, json};
use suimon_api::parse_picker_config;
use suimon_picker::{Metrics, Registry, Resources};

use crate::pool::{Ask, Pool, alone};

const PATH: &str = "/v1/completions";

/// The prefix scorer with a producer of these parameters.
fn producer(parameters: &str) -> String {
    format!(
        "plugins: [{{type: prefix-cache-scorer}}, {{type: approx-prefix-cache-producer, \
         parameters: {parameters}}}]"
    )
}

/// Share of `then` that an endpoint holds which got `first`, and of one which got nothing.
fn share_of(yaml: &str, first: &Ask, then: &Ask) -> f32 {
    let pool = Pool::idle(yaml, 2);
    pool.goes_to(&first.clone().only(&[0]));
    let scores = pool.scores(then);
    assert_eq!(scores[1], 0.0, "nothing went there");
    scores[0]
}

fn share(first: &Ask, then: &Ask) -> f32 {
    share_of(&alone("prefix-cache-scorer"), first, then)
}

fn completion(prompt: &Value) -> Ask {
    Ask::json(PATH, &json!({"model": "m", "prompt": prompt}))
}

fn text(letter: &str, bytes: usize) -> String {
    letter.repeat(bytes)
}

#[test]
fn equal_prompts_share_all_and_others_nothing() {
    let rows = [
        ("hello".to_owned(), "goodbye".to_owned()),
        ("hello".to_owned(), "hello world".to_owned()),
        (text("a", 2000), format!("b{}", text("a", 1999))),
    ];
    for (one, other) in rows {
        let (one, other) = (Ask::prompt(&one), Ask::prompt(&other));
        assert_eq!(share(&one, &one), 1.0);
        assert_eq!(share(&one, &other), 0.0);
    }
}

#[test]
fn a_prefix_counts_without_gap_from_the_start() {
    let (a, b) = (text("a", 512), text("b", 512));
    let first = Ask::prompt(&format!("{a}{a}{a}"));
    assert_eq!(share(&first, &Ask::prompt(&format!("{a}{b}{a}{a}"))), 0.25);
    assert_eq!(share(&first, &Ask::prompt(&format!("{b}{a}{a}"))), 0.0);
}

#[test]
fn models_and_salts_keep_prefixes_apart() {
    let prompt = text("a", 2000);
    let ask = |model: &str, salt: Option<&str>| {
        let mut body = json!({"model": model, "prompt": prompt});
        if let Some(salt) = salt {
            body["cache_salt"] = json!(salt);
        }
        Ask::json(PATH, &body)
    };
    let kinds = [
        ask("m", None),
        ask("n", None),
        ask("m", Some("t1")),
        ask("m", Some("t2")),
    ];
    for (i, one) in kinds.iter().enumerate() {
        for (j, other) in kinds.iter().enumerate() {
            let expected = if i == j { 1.0 } else { 0.0 };
            assert_eq!(share(one, other), expected, "{i} {j}");
        }
    }
}

#[test]
fn the_model_is_the_one_that_the_endpoint_is_asked_for() {
    let pool = Pool::idle(&alone("prefix-cache-scorer"), 1);
    pool.rewrites(&[(Some("a"), &[("m", 1)]), (Some("b"), &[("m", 1)])]);
    let ask = |model: &str| Ask::json(PATH, &json!({"model": model, "prompt": text("x", 999)}));
    pool.goes_to(&ask("a"));
    assert_eq!(pool.scores(&ask("b")), [1.0]);
}

#[test]
fn several_prompts_of_one_request_are_hashed_apart() {
    let (a, b, c) = (text("a", 1024), text("b", 1024), text("c", 1024));
    let first = completion(&json!([a, b]));
    assert_eq!(share(&first, &completion(&json!(b))), 1.0);
    assert_eq!(share(&first, &completion(&json!([b, c]))), 0.5);
    assert_eq!(share(&first, &completion(&json!([b, a]))), 1.0);
    let joined = completion(&json!(format!("{a}{b}")));
    assert_eq!(share(&first, &joined), 0.5, "they do not run together");
}

#[test]
fn token_ids_are_prompts_too() {
    let ids = |from: u32, count: u32| (from..from + count).collect::<Vec<u32>>();
    let first = completion(&json!(ids(0, 128)));
    assert_eq!(share(&first, &completion(&json!(ids(0, 256)))), 0.5);
    assert_eq!(share(&first, &completion(&json!([ids(0, 128)]))), 1.0);
    assert_eq!(share(&first, &completion(&json!(ids(1, 128)))), 0.0);
}

#[test]
fn the_size_of_a_block_follows_the_parameters_down_to_64_tokens() {
    // Alike in the first 800 of 1024 bytes: 3 of 4 blocks of 64 tokens, 1 of 2 of 128.
    let first = Ask::prompt(&text("a", 1024));
    let then = Ask::prompt(&(text("a", 800) + &text("b", 224)));
    for (parameters, expected) in [
        ("{}", 0.75),
        ("{blockSizeTokens: 1}", 0.75),
        ("{blockSizeTokens: 16}", 0.75),
        ("{blockSizeTokens: 64}", 0.75),
        ("{blockSizeTokens: 128}", 0.5),
        ("{blockSize: 128}", 0.5),
        ("{blockSize: 128, blockSizeTokens: 64}", 0.75),
    ] {
        let yaml = producer(parameters);
        assert_eq!(share_of(&yaml, &first, &then), expected, "{parameters}");
    }
}

#[test]
fn the_engine_tells_its_size_of_a_block_unless_that_is_switched_off() {
    let first = Ask::prompt(&text("a", 1024));
    let then = Ask::prompt(&(text("a", 800) + &text("b", 224)));
    for (parameters, expected) in [("{}", 0.5), ("{autoTune: false}", 0.75)] {
        let pool = Pool::new(&producer(parameters), 1);
        let metrics = Metrics {
            block_size: 128,
            ..Metrics::default()
        };
        pool.scrape(0, metrics);
        pool.goes_to(&first);
        assert_eq!(pool.scores(&then), [expected], "{parameters}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let registry = Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]);
    let registry = registry.unwrap();
    let plugin = "plugin `approx-prefix-cache-producer` (type `approx-prefix-cache-producer`)";
    let above = "must be above 0 and at most 4294967295";
    for (parameter, field, why) in [
        (
            "blockSizeTokens: 0",
            "blockSizeTokens",
            format!("{above}, got 0"),
        ),
        (
            "blockSizeTokens: -1",
            "blockSizeTokens",
            format!("{above}, got -1"),
        ),
        (
            "lruCapacityPerServer: 0",
            "lruCapacityPerServer",
            format!("{above}, got 0"),
        ),
        (
            "maxPrefixTokensToMatch: -1",
            "maxPrefixTokensToMatch",
            "must not be below 0, got -1".to_owned(),
        ),
        (
            "maxPrefixBlocksToMatch: -1",
            "maxPrefixBlocksToMatch",
            "must not be below 0, got -1".to_owned(),
        ),
    ] {
        let config = parse_picker_config(&producer(&format!("{{{parameter}}}"))).unwrap();
        let error = suimon_picker::build(&config, &registry, &Resources::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{plugin}: parameter `{field}`: {why}")
        );
    }
}

#[test]
fn no_more_of_a_prompt_is_matched_than_allowed() {
    // 512 bytes alike, then other ones.
    let first = Ask::prompt(&(text("a", 512) + &text("b", 512)));
    let then = Ask::prompt(&(text("a", 512) + &text("c", 512)));
    for (parameters, expected) in [
        ("{}", 0.5),
        ("{maxPrefixTokensToMatch: 128}", 1.0),
        (
            "{maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 2}",
            1.0,
        ),
        (
            "{maxPrefixTokensToMatch: 0, maxPrefixBlocksToMatch: 0}",
            0.5,
        ),
    ] {
        let yaml = producer(parameters);
        assert_eq!(share_of(&yaml, &first, &then), expected, "{parameters}");
    }
}

#[test]
fn an_endpoint_is_remembered_for_no_more_blocks_than_it_holds() {
    // 100 blocks of 16 tokens are 25 of 64.
    let pool = Pool::idle(&producer("{lruCapacityPerServer: 100}"), 1);
    let ask = |number: usize| Ask::prompt(&format!("{number}{}", text("x", 2000)));
    for number in 0..50 {
        pool.goes_to(&ask(number));
        assert!(pool.endpoint(0).prefix_blocks() <= 25);
    }
    assert_eq!(pool.endpoint(0).prefix_blocks(), 25);
    assert_eq!(pool.scores(&ask(49)), [1.0], "the newest is there");
    assert_eq!(pool.scores(&ask(0)), [0.0], "the oldest is not");
}
