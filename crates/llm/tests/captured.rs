//! Requests and responses captured from vLLM 0.32.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use bytes::Bytes;
use serde::Deserialize;
use suimon_llm::{ApiKind, Fields, InferenceRequest, ModelField, ResponseReader, Usage};

#[derive(Deserialize)]
struct Case {
    name: String,
    path: String,
    request: Option<serde_json::Value>,
    body: String,
    headers: serde_json::Map<String, serde_json::Value>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("data/vllm-0.32.json")).unwrap()
}

/// Prompt, completion and cached tokens that the capture shows.
fn expected(name: &str) -> Option<(u64, u64, Option<u64>)> {
    Some(match name {
        "chat-plain" | "chat-repeat-prefix" => (345, 8, None),
        "chat-lora" => (371, 8, None),
        "chat-stream-usage" => (342, 8, None),
        "chat-n2-logprobs" => (341, 6, None),
        "chat-content-parts" => (17, 4, None),
        "chat-cache-salt" => (345, 4, None),
        "completion-string" => (211, 6, None),
        "completion-array" => (8, 8, None),
        "completion-token-ids" => (64, 4, None),
        "completion-stream" => (5, 4, None),
        "responses" => (18, 8, Some(0)),
        "responses-stream" => (22, 8, Some(0)),
        "messages" => (24, 8, None),
        "messages-stream" => (14, 8, None),
        "generate" => (64, 4, None),
        _ => return None,
    })
}

#[test]
fn usage_is_read_from_each_response() {
    let cases = cases();
    assert_eq!(cases.len(), 27);
    for case in &cases {
        let content = case.headers["content-type"].as_str().unwrap();
        let sse = content.contains("text/event-stream");
        let want = expected(&case.name).map(|(prompt, completion, cached)| Usage {
            prompt: Some(prompt),
            completion: Some(completion),
            cached,
        });
        for size in [1, 7, 64, usize::MAX] {
            let kind = ApiKind::from_path(&case.path);
            let mut reader = ResponseReader::new(kind, sse, None);
            let mut out = Vec::new();
            for chunk in case.body.as_bytes().chunks(size) {
                out.extend_from_slice(&reader.push(Bytes::copy_from_slice(chunk)));
            }
            out.extend_from_slice(&reader.finish());
            assert_eq!(out, case.body.as_bytes(), "{} by {size}", case.name);
            assert_eq!(reader.usage(), want, "{} by {size}", case.name);
        }
    }
}

#[test]
fn each_request_is_read() {
    for case in cases() {
        let Some(request) = case.request else {
            continue;
        };
        let fields = Fields::scan(Bytes::from(request.to_string())).unwrap();
        let kind = ApiKind::from_path(&case.path);
        let parsed = InferenceRequest::parse(kind, &fields);
        if case.name == "err-missing-messages" {
            let error = parsed.as_ref().unwrap_err().to_string();
            assert_eq!(
                error,
                "invalid chat completions request: must have valid messages field"
            );
        }
        let parsed = parsed.unwrap_or_else(|_| InferenceRequest::without_prompts(kind, &fields));
        let ModelField::Name { name, .. } = parsed.model else {
            panic!("{}: no model", case.name);
        };
        assert_eq!(Some(name), request["model"].as_str(), "{}", case.name);
        let stream = request.get("stream") == Some(&serde_json::Value::Bool(true));
        assert_eq!(parsed.stream, stream, "{}", case.name);
        let interpreted = !matches!(kind, ApiKind::Opaque | ApiKind::CountTokens)
            && case.name != "err-missing-messages";
        assert_eq!(!parsed.prompts.is_empty(), interpreted, "{}", case.name);
    }
}
