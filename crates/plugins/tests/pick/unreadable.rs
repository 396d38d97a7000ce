//! Bodies that are not what their path says.

use suimon_llm::ApiKind;
use suimon_picker::{Decision, PickError};

use crate::pool::{Ask, Pool, RuleOf, STANDARD, alone};

const CHAT: &str = "/v1/chat/completions";
const REWRITE: &str = "x-llm-d-model-name-rewrite";
const MESSAGES: &str = r#""messages":[{"role":"user","content":"hello"}]"#;

/// Bodies to which an engine may answer anything, but that are not read here. Python reads the last
/// three as JSON.
fn unread() -> Vec<Vec<u8>> {
    let chat = format!(r#"{{"model":"m",{MESSAGES}}}"#);
    let utf16: Vec<u8> = chat.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let marked = ["\u{feff}", &chat].concat().into_bytes();
    let deep = format!(
        r#"{{"model":"m",{MESSAGES},"x":{}{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    vec![
        b"{\"model\":\"m\",".to_vec(),
        b"[1]".to_vec(),
        b"{\"model\":\"m\",\"messages\":[\"\xff\"]}".to_vec(),
        utf16,
        marked,
        deep.into_bytes(),
    ]
}

/// Bodies that say which model is meant, and no prompt that can be read.
const PROMPTLESS: [(&str, &str); 6] = [
    (CHAT, r#"{"model":"m"}"#),
    (CHAT, r#"{"model":"m","messages":"hello"}"#),
    ("/v1/completions", r#"{"model":"m","prompt":[1,"x"]}"#),
    ("/v1/embeddings", r#"{"model":"m","input":{}}"#),
    ("/v1/messages", r#"{"model":"m","messages":[]}"#),
    (
        "/inference/v1/generate",
        r#"{"model":"m","token_ids":[-1]}"#,
    ),
];

fn renamed(decision: &Decision) -> (&str, &str, bool) {
    let model = &decision.model;
    (&model.incoming, &model.target, model.replace.is_some())
}

#[test]
fn an_endpoint_is_picked_for_a_body_that_cannot_be_read() {
    let pool = Pool::idle(STANDARD, 3);
    for body in unread() {
        let decision = pool.pick(&Ask::bytes(CHAT, &body)).unwrap();
        // The response is read as what the path says.
        assert_eq!(decision.api, ApiKind::ChatCompletions);
        assert_eq!(renamed(&decision), ("", "", false));
        assert_eq!(decision.endpoints.len(), 3);
    }
}

#[test]
fn a_body_that_hides_its_model_does_not_slip_past_a_rewrite() {
    let pool = Pool::idle(&alone("queue-scorer"), 2);
    let any: [RuleOf<'_>; 1] = [(None, &[("any", 1)])];
    let one: [RuleOf<'_>; 1] = [(Some("other"), &[("any", 1)])];
    for rules in [&any, &one] {
        pool.rewrites(rules);
        for body in unread() {
            let error = pool.pick(&Ask::bytes(CHAT, &body)).unwrap_err();
            assert!(matches!(error, PickError::Parse(_)), "{error}");
            // No rule is for what has no model.
            let path = "/v1/audio/transcriptions";
            assert!(pool.pick(&Ask::bytes(path, &body)).is_ok());
        }
    }
    pool.rewrites(&[]);
    for body in unread() {
        let named = Ask::bytes(CHAT, &body).header(REWRITE, "other");
        let error = pool.pick(&named).unwrap_err();
        assert!(matches!(error, PickError::Parse(_)), "{error}");
    }
}

#[test]
fn without_a_prompt_the_model_counts_as_ever() {
    let pool = Pool::idle(STANDARD, 2);
    for (path, body) in PROMPTLESS {
        let decision = pool.pick(&Ask::raw(path, body)).unwrap();
        assert_eq!(renamed(&decision), ("m", "m", false), "{body}");
        assert_eq!(decision.api, ApiKind::from_path(path));
    }
    pool.rewrites(&[(Some("m"), &[("other", 1)])]);
    for (path, body) in PROMPTLESS {
        let decision = pool.pick(&Ask::raw(path, body)).unwrap();
        assert_eq!(renamed(&decision), ("m", "other", true), "{body}");
        let last = body.replacen('{', r#"{"model":"x","#, 1);
        let decision = pool.pick(&Ask::raw(path, &last)).unwrap();
        assert_eq!(renamed(&decision), ("m", "other", true), "{last}");
        let error = pool.pick(&Ask::raw(path, r#"{"n":1}"#)).unwrap_err();
        assert!(matches!(error, PickError::ModelMissing), "{error}");
    }
}

#[test]
fn nothing_is_remembered_of_what_has_no_prompt() {
    let pool = Pool::idle(STANDARD, 2);
    for (path, body) in PROMPTLESS {
        assert!(pool.pick(&Ask::raw(path, body)).is_ok());
    }
    let held = |index: usize| pool.endpoint(index).prefix_blocks();
    assert_eq!((held(0), held(1)), (0, 0));
}
