//! Each API with each plugin.

use serde_json::{Value, json};
use suimon_llm::ApiKind;
use suimon_picker::PickError;

use crate::pool::{Ask, Pool, STANDARD, alone};

const CHAT: &str = "/v1/chat/completions";

/// Requests to all APIs, with what they are.
fn requests() -> Vec<(Ask, ApiKind)> {
    let messages = json!([{"role": "user", "content": "hello"}]);
    let parts = json!([{"role": "user", "content": [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]}]);
    let completion =
        |prompt: Value| Ask::json("/v1/completions", &json!({"model": "m", "prompt": prompt}));
    let respond = |input: Value| Ask::json("/v1/responses", &json!({"model": "m", "input": input}));
    let embed = |input: Value| Ask::json("/v1/embeddings", &json!({"model": "m", "input": input}));
    let to = |path: &str, body: Value| Ask::json(path, &body);
    let chat = json!({"model": "m", "messages": messages, "tools": [{"type": "function"}]});
    let anthropic = json!({"model": "m", "system": "be kind", "messages": messages});
    let generate = json!({"model": "m", "token_ids": [1, 2, 3]});
    let image = json!({"model": "m", "prompt": "a cat"});
    let part = "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x--\r\n";
    vec![
        (to(CHAT, chat), ApiKind::ChatCompletions),
        (
            to(CHAT, json!({"model": "m", "messages": parts})),
            ApiKind::ChatCompletions,
        ),
        (completion(json!("hello")), ApiKind::Completions),
        (completion(json!(["one", "two"])), ApiKind::Completions),
        (completion(json!([1, 2, 3])), ApiKind::Completions),
        (completion(json!([[1, 2], [3]])), ApiKind::Completions),
        (respond(json!("hello")), ApiKind::Responses),
        (respond(messages.clone()), ApiKind::Responses),
        (
            to("/v1/conversations", json!({"items": messages})),
            ApiKind::Conversations,
        ),
        (embed(json!("hello")), ApiKind::Embeddings),
        (embed(json!(["one", "two"])), ApiKind::Embeddings),
        (to("/v1/images/generations", image), ApiKind::Images),
        (to("/v1/messages", anthropic.clone()), ApiKind::Messages),
        (
            to("/v1/messages/count_tokens", anthropic),
            ApiKind::CountTokens,
        ),
        (to("/inference/v1/generate", generate), ApiKind::Generate),
        (Ask::raw("/v1/audio/transcriptions", part), ApiKind::Opaque),
        (to("/tokenize", json!({"prompt": "hi"})), ApiKind::Opaque),
        (Ask::get("/v1/models"), ApiKind::Opaque),
        (Ask::get(CHAT), ApiKind::Opaque),
    ]
}

#[test]
fn each_api_gets_an_endpoint_from_each_plugin() {
    let kinds = suimon_plugins::CATALOGUE.iter().map(|one| alone(one.name));
    for yaml in kinds.chain([STANDARD.to_owned(), String::new()]) {
        let scraped = Pool::idle(&yaml, 3);
        let unknown = Pool::new(&yaml, 3);
        for (ask, kind) in requests() {
            for pool in [&scraped, &unknown] {
                let decision = pool.pick(&ask);
                let decision = decision.unwrap_or_else(|error| panic!("{error}: {ask:?} {yaml}"));
                assert_eq!(decision.api, kind, "{ask:?}");
                assert_eq!(decision.endpoints.len(), 3, "{ask:?} {yaml}");
            }
        }
    }
}

#[test]
fn a_second_request_alike_is_held_where_the_first_went() {
    let pool = Pool::idle(STANDARD, 4);
    let prompt = "a prompt that is long enough. ".repeat(20);
    for path in [
        "/v1/completions",
        "/v1/responses",
        "/v1/embeddings",
        CHAT,
        "/v1/messages",
    ] {
        let messages = json!([{"role": "user", "content": prompt}]);
        let mut body = json!({"model": path, "prompt": prompt, "input": prompt});
        if path != "/v1/embeddings" {
            body["messages"] = messages;
        }
        let ask = Ask::json(path, &body);
        let first = pool.goes_to(&ask);
        assert!((0..10).all(|_| pool.goes_to(&ask) == first), "{path}");
    }
}

#[test]
fn a_strict_front_door_is_told_what_is_wrong_with_a_body() {
    let pool = Pool::idle(STANDARD, 1);
    for (path, body, message) in [
        (
            CHAT,
            r#"{"model":"m"}"#,
            "invalid chat completions request: must have valid messages field",
        ),
        (
            "/v1/completions",
            r#"{"model":"m"}"#,
            "invalid completions request: must have prompt field",
        ),
        (
            "/v1/completions",
            r#"{"model":"m","prompt":[1,"x"]}"#,
            "invalid completions request: prompt[1]: invalid value \"x\"",
        ),
        (
            "/v1/embeddings",
            r#"{"model":"m"}"#,
            "invalid embeddings request: must have input field",
        ),
        (
            "/v1/responses",
            r#"{"model":"m"}"#,
            "invalid responses request: must have input field",
        ),
        (
            "/v1/messages",
            r#"{"model":"m","messages":[]}"#,
            "invalid messages request: must have at least one message",
        ),
        (
            "/inference/v1/generate",
            r#"{"model":"m","token_ids":[]}"#,
            "invalid generate request: must have non-empty token_ids field",
        ),
        (
            CHAT,
            "[1]",
            "error unmarshaling request bodyMap: request body must be a JSON object",
        ),
        (
            "/v1/messages",
            "no healthy upstream",
            "error unmarshaling request body: request body must be a JSON object",
        ),
        (
            CHAT,
            r#"{"model":"m""#,
            "error unmarshaling request bodyMap: request body is not valid JSON: unexpected end",
        ),
    ] {
        let error = pool.pick(&Ask::raw(path, body).strict()).unwrap_err();
        assert!(matches!(error, PickError::Parse(_)), "{body}: {error}");
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn a_path_that_no_parser_takes_is_told() {
    let yaml = "requestHandler: {parsers: [{pluginRef: openai-parser}]}";
    let pool = Pool::idle(yaml, 1);
    assert_eq!(pool.goes_to(&Ask::prompt("hello")), 0);
    let body = json!({"model": "m", "messages": [{}]});
    let error = pool.pick(&Ask::json("/v1/messages", &body)).unwrap_err();
    assert!(matches!(error, PickError::NoParser { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "no parser registered matching path suffix for: /v1/messages"
    );
}
