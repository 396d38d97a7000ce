//! gRPC requests and responses, however they are cut.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use bytes::Bytes;
use proptest::prelude::*;
use suimon_llm::{ApiKind, InferenceRequest, Prompt, ResponseReader, Usage, vertex_json};

const KINDS: [ApiKind; 5] = [
    ApiKind::VllmGrpcGenerate,
    ApiKind::VllmGrpcEmbed,
    ApiKind::VertexChat,
    ApiKind::VertexRawPredict,
    ApiKind::VertexStreamRawPredict,
];

/// A field of bytes shorter than 16 KiB.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).unwrap();
    let len = [(len & 0x7f) as u8 | 0x80, (len >> 7) as u8];
    [&[number << 3 | 2], &len[..], value].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &len[..], message].concat()
}

fn http_body(content_type: &str, data: &str) -> Vec<u8> {
    framed(&[field(1, content_type.as_bytes()), field(2, data.as_bytes())].concat())
}

/// Reads `stream` in chunks of each of some sizes; it must pass unchanged.
fn usage(kind: ApiKind, stream: &[u8]) -> Option<Usage> {
    let mut found = Vec::new();
    for size in [1, 3, 7, 64, stream.len()] {
        let mut reader = ResponseReader::new(kind, false, None);
        let mut out = Vec::new();
        for chunk in stream.chunks(size) {
            out.extend_from_slice(&reader.push(Bytes::copy_from_slice(chunk)));
        }
        out.extend_from_slice(&reader.finish());
        assert_eq!(out, stream);
        found.push(reader.usage());
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "{found:?}");
    found[0]
}

fn counts(prompt: u64, completion: u64, cached: Option<u64>) -> Option<Usage> {
    Some(Usage {
        prompt: Some(prompt),
        completion: Some(completion),
        cached,
    })
}

#[test]
fn a_stream_of_vllm_ends_with_its_totals() {
    let chunk = |completion: u8| framed(&field(1, &[0x10, 12, 0x18, completion, 0x20, 8]));
    let complete = framed(&field(2, &[0x0a, 2, 1, 2, 0x18, 12, 0x20, 5]));
    let stream = [chunk(1), chunk(2), chunk(3), complete].concat();
    assert_eq!(
        usage(ApiKind::VllmGrpcGenerate, &stream),
        counts(12, 5, Some(8))
    );
    assert_eq!(usage(ApiKind::VllmGrpcGenerate, &framed(b"")), None);
}

#[test]
fn vertex_answers_with_a_document_or_with_events() {
    let document = r#"{"id":"x","choices":[{"message":{"content":"usage"}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    let whole = http_body("application/json", document);
    assert_eq!(usage(ApiKind::VertexChat, &whole), counts(7, 3, None));
    let (front, back) = document.split_at(70);
    let parts = [front, back].map(|part| http_body("application/json", part));
    assert_eq!(
        usage(ApiKind::VertexRawPredict, &parts.concat()),
        counts(7, 3, None)
    );
    let each = [r#"{"id":"x","choices":[]}"#, document, r#"{"id":"y"}"#];
    let each = each.map(|one| http_body("application/json", one));
    assert_eq!(
        usage(ApiKind::VertexStreamRawPredict, &each.concat()),
        counts(7, 3, None)
    );
    let events = format!("data: {{\"id\":\"x\"}}\n\ndata: {document}\n\ndata: [DONE]\n\n");
    let (front, back) = events.split_at(90);
    let events = [front, back].map(|part| http_body("text/event-stream; charset=utf-8", part));
    assert_eq!(
        usage(ApiKind::VertexChat, &events.concat()),
        counts(7, 3, None)
    );
}

/// Bytes that look like gRPC often enough to get somewhere.
fn nearly_grpc() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = || proptest::collection::vec(any::<u8>(), 0..60);
    let nested = (1_u8..9, 1_u8..9, any_bytes())
        .prop_map(|(outer, inner, value)| framed(&field(outer, &field(inner, &value))));
    let raw = any_bytes().prop_map(|value| framed(&value));
    let message = prop_oneof![nested, raw, any_bytes()];
    proptest::collection::vec(message, 0..4).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn any_request_is_survived(body in nearly_grpc()) {
        let body = Bytes::from(body);
        for kind in KINDS {
            if kind.is_vertex() {
                if let Ok(fields) = vertex_json(kind, &body) {
                    let _ = InferenceRequest::parse(kind, &fields);
                }
                continue;
            }
            let Ok(request) = InferenceRequest::parse_grpc(kind, &body) else {
                continue;
            };
            for prompt in &request.prompts {
                if let Prompt::Text(ranges) = prompt {
                    prop_assert!(ranges.iter().all(|range| body.get(range.clone()).is_some()));
                }
            }
        }
    }

    #[test]
    fn any_response_passes(body in nearly_grpc()) {
        prop_assume!(!body.is_empty());
        for kind in KINDS {
            let _ = usage(kind, &body);
        }
    }
}
