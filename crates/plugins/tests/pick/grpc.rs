//! Requests to SGLang, and those inside of gRPC messages.

use serde_json::json;
use suimon_llm::ApiKind;
use suimon_picker::PickError;

use crate::pool::{Ask, Pool, RuleOf};

const GENERATE: &str = "/vllm.grpc.engine.VllmEngine/Generate";
const EMBED: &str = "/vllm.grpc.engine.VllmEngine/Embed";
const CHAT: &str = "/google.cloud.aiplatform.v1beta1.PredictionService/ChatCompletions";
const RAW: &str = "/google.cloud.aiplatform.v1beta1.PredictionService/RawPredict";

/// All parsers, and what shows where a prompt is held.
const ALL: &str = "
plugins:
- type: prefix-cache-scorer
requestHandler:
  parsers:
  - pluginRef: openai-parser
  - pluginRef: vllmhttp-parser
  - pluginRef: sglanghttp-parser
  - pluginRef: vllmgrpc-parser
  - pluginRef: vertexai-parser
";

fn only(parser: &str) -> String {
    format!("requestHandler: {{parsers: [{{pluginRef: {parser}}}]}}")
}

/// A field of bytes shorter than 16 KiB.
fn field(number: u8, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len()).unwrap();
    let len = [(len & 0x7f) as u8 | 0x80, u8::try_from(len >> 7).unwrap()];
    [&[(number << 3) | 2], &len[..], value].concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &len[..], message].concat()
}

fn text(text: &str) -> Vec<u8> {
    framed(&field(3, text.as_bytes()))
}

fn tokens(count: u8) -> Vec<u8> {
    let ids: Vec<u8> = (0..count).map(|id| id % 128).collect();
    framed(&field(2, &field(2, &ids)))
}

fn vertex(body: &serde_json::Value) -> Vec<u8> {
    framed(&field(2, &field(2, body.to_string().as_bytes())))
}

fn chat(model: &str, content: &str) -> Vec<u8> {
    vertex(&json!({"model": model, "messages": [{"role": "user", "content": content}]}))
}

#[test]
fn each_is_read_and_remembered() {
    let long = "a prompt that is long enough. ".repeat(40);
    let ids: Vec<u32> = (0..300).collect();
    for (ask, kind) in [
        (
            Ask::bytes(GENERATE, &text(&long)),
            ApiKind::VllmGrpcGenerate,
        ),
        (
            Ask::bytes(GENERATE, &tokens(255)),
            ApiKind::VllmGrpcGenerate,
        ),
        (Ask::bytes(EMBED, &tokens(255)), ApiKind::VllmGrpcEmbed),
        (Ask::bytes(CHAT, &chat("m", &long)), ApiKind::VertexChat),
        (
            Ask::bytes(RAW, &vertex(&json!({"model": "m", "input": long}))),
            ApiKind::VertexRawPredict,
        ),
        (
            Ask::json("/generate", &json!({"input_ids": ids})),
            ApiKind::SglangGenerate,
        ),
        (
            Ask::json("/generate", &json!({"text": long})),
            ApiKind::SglangGenerate,
        ),
    ] {
        for ask in [ask.clone(), ask.strict()] {
            let pool = Pool::idle(ALL, 4);
            let decision = pool.pick(&ask).unwrap();
            assert_eq!(decision.api, kind);
            assert_eq!(decision.model.replace, None);
            let first = crate::pool::index(&decision);
            assert!(pool.endpoint(first).prefix_blocks() > 2, "{kind:?}");
            drop(decision);
            assert!((0..8).all(|_| pool.goes_to(&ask) == first), "{kind:?}");
        }
    }
}

#[test]
fn the_model_in_vertex_counts_and_is_never_replaced() {
    let pool = Pool::idle(ALL, 2);
    let names = pool.pick(&Ask::bytes(CHAT, &chat("m", "x"))).unwrap().model;
    assert_eq!((&*names.incoming, &*names.target), ("m", "m"));
    let other: [RuleOf<'_>; 1] = [(Some("other"), &[("canary", 1)])];
    pool.rewrites(&other);
    assert!(pool.pick(&Ask::bytes(CHAT, &chat("m", "x"))).is_ok());
    // It cannot be replaced there, and must not slip past the rule.
    for body in [chat("other", "x"), b"\x01\0\0\0\x01x".to_vec()] {
        let error = pool.pick(&Ask::bytes(CHAT, &body)).unwrap_err();
        let refused = matches!(error, PickError::ModelFixed | PickError::Parse(_));
        assert!(refused, "{error}");
    }
    let any: [RuleOf<'_>; 1] = [(None, &[("canary", 1)])];
    pool.rewrites(&any);
    let error = pool.pick(&Ask::bytes(CHAT, &chat("m", "x"))).unwrap_err();
    assert!(matches!(error, PickError::ModelFixed), "{error}");
    assert!(pool.pick(&Ask::bytes(CHAT, &chat("canary", "x"))).is_ok());
    // These name no model: no rule is for them.
    let sglang = Ask::json("/generate", &json!({"text": "x"}));
    for ask in [sglang, Ask::bytes(GENERATE, &text("x"))] {
        assert_eq!(&*pool.pick(&ask).unwrap().model.target, "");
    }
}

#[test]
fn what_cannot_be_read_goes_on_or_is_told() {
    let pool = Pool::idle(ALL, 1);
    let frame = "invalid or unsupported gRPC payload";
    for (ask, want) in [
        (Ask::bytes(GENERATE, b"\x01\0\0\0\0"), frame),
        (Ask::bytes(GENERATE, b"{}"), frame),
        (
            Ask::bytes(EMBED, &text("x")),
            "missing tokenized input in EmbedRequest",
        ),
        (
            Ask::bytes(CHAT, &framed(b"")),
            "ChatCompletionsRequest has no HttpBody",
        ),
        (
            Ask::raw(CHAT, r#"{"a":1}"#),
            "invalid or unsupported gRPC payload: the compression flag is neither 0 nor 1",
        ),
        (
            Ask::raw("/generate", "{}"),
            "invalid generate request: input_ids must be provided",
        ),
    ] {
        let decision = pool.pick(&ask).unwrap();
        assert_eq!(&*decision.model.target, "");
        assert_eq!(decision.model.replace, None);
        assert_eq!(pool.pick(&ask.strict()).unwrap_err().to_string(), want);
    }
}

#[test]
fn a_path_belongs_to_the_parser_of_its_longest_suffix() {
    let ids = json!({"model": "m", "token_ids": [1], "input_ids": [1]});
    let kind = |yaml: &str, path: &str| {
        let decision = Pool::idle(yaml, 1).pick(&Ask::json(path, &ids));
        decision.map(|decision| decision.api).ok()
    };
    let native = "/inference/v1/generate";
    assert_eq!(kind(ALL, native), Some(ApiKind::Generate));
    assert_eq!(kind(ALL, "/generate/"), Some(ApiKind::SglangGenerate));
    let sglang = only("sglanghttp-parser");
    assert_eq!(kind(&sglang, "/generate"), Some(ApiKind::SglangGenerate));
    assert_eq!(kind(&sglang, native), None, "what it could not read");
    let by_default = kind("", "/generate");
    assert_eq!(by_default, Some(ApiKind::Opaque), "nobody asked for SGLang");
    let abort = "/vllm.grpc.engine.VllmEngine/Abort";
    assert_eq!(kind(&only("vllmgrpc-parser"), abort), None);
    assert_eq!(kind("", abort), Some(ApiKind::Opaque));
}

#[test]
fn the_fallback_takes_any_body_as_it_is() {
    for body in ["passthrough-parser", "{\"model\":7}", "\0\0\0\0\x01x"] {
        for parser in ["passthrough-parser", "openai-parser"] {
            let pool = Pool::idle(&only(parser), 1);
            let ask = Ask::raw("/some/path", body).strict();
            assert_eq!(pool.pick(&ask).is_ok(), parser == "passthrough-parser");
        }
    }
}
