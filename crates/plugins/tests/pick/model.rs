//! Which model an endpoint is asked for.

use std::collections::HashMap;

use bytes::Bytes;
use serde_json::{Value, json};
use suimon_llm::splice;
use suimon_picker::{ModelNames, PickError};

use crate::pool::{Ask, Pool, RuleOf, alone};

const PATH: &str = "/v1/completions";
const REWRITE: &str = "x-llm-d-model-name-rewrite";
const FORMER_REWRITE: &str = "x-gateway-model-name-rewrite";

fn pool() -> Pool {
    Pool::idle(&alone("queue-scorer"), 2)
}

fn model(pool: &Pool, ask: &Ask) -> Result<ModelNames, PickError> {
    pool.pick(ask).map(|decision| decision.model)
}

/// The body that the endpoint gets for `body`.
fn sent(pool: &Pool, body: &str) -> String {
    let names = model(pool, &Ask::raw(PATH, body)).unwrap();
    let range = names.replace.unwrap();
    let sent = splice(&Bytes::from(body.to_owned()), &range, &names.target);
    String::from_utf8(sent.to_vec()).unwrap()
}

#[test]
fn targets_are_drawn_by_weight() {
    let pool = pool();
    pool.rewrites(&[(Some("llama3"), &[("stable", 90), ("canary", 10)])]);
    let ask = Ask::json(PATH, &json!({"model": "llama3", "prompt": "hello"}));
    let mut counts = HashMap::from([("stable", 0_u32), ("canary", 0)]);
    for _ in 0..10_000 {
        let names = model(&pool, &ask).unwrap();
        *counts.get_mut(&*names.target).unwrap() += 1;
    }
    let chi_square: f64 = [("stable", 9000.0), ("canary", 1000.0)]
        .map(|(name, expected)| (f64::from(counts[name]) - expected).powi(2) / expected)
        .iter()
        .sum();
    // 10.83: the 0.1 % point of chi-square with one degree of freedom.
    assert!(chi_square < 10.83, "{counts:?}");
}

#[test]
fn without_a_rewrite_nothing_is_replaced() {
    let pool = pool();
    for name in [
        "m",
        "org/model:tag",
        "zwei\\nZeilen",
        "模型",
        &"long".repeat(75),
    ] {
        let body = format!(r#"{{"model":"{name}","prompt":"hello"}}"#);
        let names = model(&pool, &Ask::raw(PATH, &body)).unwrap();
        let read: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(read["model"], *names.incoming);
        assert_eq!(names.target, names.incoming);
        assert_eq!(names.replace, None);
    }
    pool.rewrites(&[(Some("m"), &[("m", 1)])]);
    let names = model(&pool, &Ask::prompt("hello")).unwrap();
    assert_eq!(names.replace, None, "the same name is no rewrite");
}

#[test]
fn a_rule_for_all_models_supplies_a_missing_one() {
    let pool = pool();
    pool.rewrites(&[(None, &[("any", 1)])]);
    for (body, expected) in [
        (r#"{"prompt":"hi"}"#, r#"{"model":"any","prompt":"hi"}"#),
        (
            r#"{"model":"","prompt":"hi"}"#,
            r#"{"model":"any","prompt":"hi"}"#,
        ),
        (
            r#"{"prompt":"hi", "model": null}"#,
            r#"{"prompt":"hi", "model": "any"}"#,
        ),
        (
            r#"{"MODEL":"m","prompt":"hi"}"#,
            r#"{"model":"any","MODEL":"m","prompt":"hi"}"#,
        ),
        (
            r#"{"model":"m","prompt":"hi"}"#,
            r#"{"model":"any","prompt":"hi"}"#,
        ),
    ] {
        assert_eq!(sent(&pool, body), expected);
    }
}

#[test]
fn a_missing_model_without_a_rule_is_told() {
    let pool = pool();
    pool.rewrites(&[(Some("m"), &[("other", 1)])]);
    for body in [
        r#"{"prompt":"hi"}"#,
        r#"{"model":"","prompt":"hi"}"#,
        r#"{"model":null,"prompt":"hi"}"#,
        r#"{"MODEL":"m","prompt":"hi"}"#,
    ] {
        let error = model(&pool, &Ask::raw(PATH, body)).unwrap_err();
        assert!(matches!(error, PickError::ModelMissing), "{body}: {error}");
        assert_eq!(error.to_string(), "model not found in request body");
    }
}

#[test]
fn a_rule_without_targets_leaves_no_model() {
    let pool = pool();
    pool.rewrites(&[(Some("m"), &[])]);
    let error = model(&pool, &Ask::prompt("hello")).unwrap_err();
    assert!(matches!(error, PickError::ModelMissing), "{error}");
    let other = Ask::raw(PATH, r#"{"model":"other","prompt":"hi"}"#);
    assert_eq!(&*model(&pool, &other).unwrap().target, "other");
}

#[test]
fn a_model_that_is_no_string_is_told_with_and_without_a_rule() {
    let pool = pool();
    let any: [RuleOf<'_>; 1] = [(None, &[("any", 1)])];
    for rules in [&[][..], &any[..]] {
        pool.rewrites(rules);
        for value in ["7", "true", "[]", "{}", r#"["m"]"#] {
            let body = format!(r#"{{"model":{value},"prompt":"hi"}}"#);
            let error = model(&pool, &Ask::raw(PATH, &body)).unwrap_err();
            assert!(matches!(error, PickError::ModelNotAString), "{body}");
            assert_eq!(error.to_string(), "`model` must be a string");
        }
    }
}

#[test]
fn of_duplicate_keys_the_last_counts_for_rule_and_body_alike() {
    let pool = pool();
    pool.rewrites(&[(Some("b"), &[("target", 1)])]);
    assert_eq!(
        sent(&pool, r#"{"model":"a","prompt":"hi","model":"b"}"#),
        r#"{"model":"a","prompt":"hi","model":"target"}"#
    );
    let other = Ask::raw(PATH, r#"{"model":"b","prompt":"hi","model":"a"}"#);
    assert_eq!(model(&pool, &other).unwrap().replace, None);
}

#[test]
fn a_header_names_a_model_where_no_rule_does() {
    let pool = pool();
    let target = |ask: &Ask| model(&pool, ask).unwrap().target.to_string();
    let former = Ask::prompt("hello").header(FORMER_REWRITE, "former");
    assert_eq!(target(&former), "former");
    let both = former.header(REWRITE, "present");
    assert_eq!(target(&both), "present");
    let empty = Ask::prompt("hello").header(REWRITE, "");
    assert_eq!(target(&empty), "m", "an empty header is none");
    let missing = Ask::raw(PATH, r#"{"prompt":"hi"}"#).header(REWRITE, "present");
    assert_eq!(target(&missing), "present");
    pool.rewrites(&[(Some("m"), &[("by rule", 1)])]);
    assert_eq!(target(&both), "by rule");
}

#[test]
fn what_is_not_interpreted_may_have_any_model() {
    let pool = pool();
    pool.rewrites(&[(None, &[("any", 1)])]);
    for body in [r#"{"model":7}"#, r#"{"model":"m"}"#, "{}"] {
        let names = model(&pool, &Ask::raw("/tokenize", body)).unwrap();
        assert_eq!((names.replace, names.target), (None, names.incoming));
    }
}
