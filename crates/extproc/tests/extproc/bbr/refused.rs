//! Requests that go nowhere.

use std::sync::Arc;

use serde_json::Value;
use suimon_extproc::bbr::{Found, Settings};
use suimon_extproc::message::{BodyMode, ImmediateResponse};
use suimon_llm::Budget;
use suimon_telemetry::Reason;

use super::{Talk, settings};
use crate::support::replies::{immediate, kinds};
use crate::support::{modes, request_body, request_headers, request_trailers};

/// Status, code and message.
fn said(answer: &ImmediateResponse) -> (u32, String, String) {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let error = &body["error"];
    assert_eq!(error["request_id"], "r-1");
    let text = |key: &str| error[key].as_str().unwrap().to_owned();
    (answer.status, text("code"), text("message"))
}

#[test]
fn strict_mode_wants_a_model() {
    for (body, code, message) in [
        ("{}", "model-missing", "the request body has no `model`"),
        (
            r#"{"model":""}"#,
            "model-missing",
            "`model` of the request body is empty",
        ),
        (
            r#"{"model":[]}"#,
            "bad-request",
            "`model` of the request body is not a string",
        ),
        (
            r#"{"model":"a\n"}"#,
            "bad-request",
            "`model` of the request body cannot be the value of a header",
        ),
        ("x", "bad-request", "failed to parse request body: "),
    ] {
        let mut talk = Talk::strict();
        talk.say_all([request_headers(&[], false), request_body(body, true)]);
        let (status, was, text) = said(immediate(&talk.replies));
        assert_eq!((status, was.as_str()), (400, code), "{body}");
        let want = format!("inference error: BadRequest - {message}");
        assert!(text.starts_with(&want), "{text}");
        assert!(talk.ended_well());
        assert!(talk.session.ended().is_some_and(|end| end.reason.is_some()));
    }
}

#[test]
fn strict_mode_lets_an_empty_body_pass() {
    let mut talk = Talk::strict();
    talk.say_all([request_headers(&[], false), request_trailers()]);
    assert_eq!(
        kinds(&talk.replies),
        ["request headers", "request trailers"]
    );
    assert!(talk.ended_well());
}

#[test]
fn strict_mode_refuses_what_cannot_be_read_by_the_head() {
    let mut talk = Talk::strict();
    talk.say(request_headers(&[("content-encoding", "gzip")], false));
    assert_eq!(said(immediate(&talk.replies)).0, 415);
    assert_eq!(talk.found(), Some(Found::Unreadable));
    let mut partial = Talk::strict();
    let head = modes(
        request_headers(&[], false),
        BodyMode::BUFFERED_PARTIAL,
        BodyMode::NONE,
    );
    partial.say_all([head, request_body(r#"{"model":"#, false)]);
    assert_eq!(
        said(immediate(&partial.replies)).0,
        413,
        "the rest is missing"
    );
}

#[test]
fn a_body_past_the_limit_is_413() {
    let small = || Settings {
        body_limit: 20,
        ..settings()
    };
    let mut by_head = Talk::with(small());
    by_head.say(request_headers(&[("content-length", "21")], false));
    let mut by_chunks = Talk::with(small());
    by_chunks.say_all([
        request_headers(&[], false),
        request_body("x".repeat(20), false),
        request_body("x", false),
    ]);
    let mut by_message = Talk::with(small());
    by_message.say(request_headers(&[], false));
    let _ = by_message.session.too_long(20, &mut by_message.replies);
    for talk in [by_head, by_chunks, by_message] {
        let (status, code, message) = said(immediate(&talk.replies));
        assert_eq!((status, code.as_str()), (413, "body-too-large"));
        assert_eq!(message, "the request body is larger than 20 bytes");
        let end = talk.session.ended().unwrap();
        assert_eq!(end.reason, Some(Reason::BodyTooLarge));
    }
}

#[test]
fn a_body_beyond_the_budget_is_503_and_all_is_given_back() {
    let budget = Arc::new(Budget::new(10));
    let with = |budget: &Arc<Budget>| Settings {
        budget: Arc::clone(budget),
        ..settings()
    };
    let mut first = Talk::with(with(&budget));
    first.say_all([request_headers(&[], false), request_body("12345678", false)]);
    let mut second = Talk::with(with(&budget));
    second.say_all([request_headers(&[], false), request_body("12345678", false)]);
    assert_eq!(said(immediate(&second.replies)).0, 503);
    drop(second);
    first.say(request_body("90", true));
    assert!(first.ended_well());
    assert!(budget.share().grow_to(1).is_err(), "the body has not left");
    drop(first);
    assert!(budget.share().grow_to(10).is_ok());
}
