//! Requests and responses that are gRPC messages go through byte for byte and are read on their way.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use std::time::Duration;

use suimon_testkit::{Answer, FakeServer, Gateway, documents};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

const PICKER: &str = "\
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
requestHandler:
  parsers: [{pluginRef: vllmgrpc-parser}, {pluginRef: sglanghttp-parser}]
";

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0], &len[..], message].concat()
}

fn post(path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: gw\r\ncontent-type: {content_type}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A response in pieces that end in the middle of prefixes and messages.
fn in_pieces(content_type: &str, body: &[u8]) -> Answer {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let pieces = body
        .chunks(4)
        .fold(Answer::new().send(head), |answer, piece| {
            answer.chunk(piece).wait(Duration::from_micros(300))
        });
    pieces.chunk("")
}

#[test]
fn usage_is_read_from_messages_cut_anywhere() {
    let chunk = |tokens: u8| framed(&[0x0a, 4, 0x10, 12, 0x18, tokens]);
    let complete = framed(&[0x12, 4, 0x18, 12, 0x20, 5]);
    let stream = [chunk(1), chunk(4), complete].concat();
    let meta = br#"{"text":"x","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":6,"completion_tokens":2,"cached_tokens":3}}"#;
    let event = [b"data: ", &meta[..], b"\n\ndata: [DONE]\n\n"].concat();
    let generate = framed(&[0x1a, 2, b'h', b'i', 0x28, 1]);
    for (path, request_type, request, response_type, response, want) in [
        (
            "/vllm.grpc.engine.VllmEngine/Generate",
            "application/grpc",
            generate,
            "application/grpc+proto",
            stream,
            [Some(12), Some(5), None],
        ),
        (
            "/generate",
            "application/json",
            br#"{"text":"hi","stream":true}"#.to_vec(),
            "text/event-stream; charset=utf-8",
            event,
            [Some(6), Some(2), Some(3)],
        ),
        (
            "/generate",
            "application/json",
            br#"{"input_ids":[1,2]}"#.to_vec(),
            "application/json",
            meta.to_vec(),
            [Some(6), Some(2), Some(3)],
        ),
    ] {
        let answer = response.clone();
        let server = FakeServer::start(move |_| in_pieces(response_type, &answer));
        let picker = documents::picker("picker", PICKER);
        let pool = documents::picker_ref("picker");
        let pool = documents::pool("models", &[server.address], &pool);
        let route = documents::route_to_pool("models");
        let yaml = [documents::GATEWAY, &route, &pool, &picker].concat();
        let gateway = Gateway::start(BINARY, &yaml);
        let answered = gateway.ask(post(path, request_type, &request));
        assert_eq!(answered.status(), 200, "{path}: {}", answered.text());
        assert_eq!(answered.body, response, "{path}");
        assert_eq!(server.last().body, request, "{path}");
        let outcome = gateway.decision(&answered.need("x-request-id"))["outcome"].clone();
        let tokens = ["promptTokens", "completionTokens", "cachedTokens"];
        assert_eq!(tokens.map(|key| outcome[key].as_u64()), want, "{path}");
    }
}
