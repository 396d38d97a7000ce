use super::*;
use crate::fields::ModelField;
use crate::grpc::tests::framed;
use crate::parse::InferenceRequest;
use crate::prompt::Prompt;
use crate::protobuf::tests::bytes;

fn request(json: &str) -> Bytes {
    let http_body = [bytes(1, b"application/json"), bytes(2, json.as_bytes())].concat();
    Bytes::from(framed(
        &[bytes(1, b"projects/p"), bytes(2, &http_body)].concat(),
    ))
}

fn error(kind: ApiKind, body: &[u8]) -> String {
    let fields = match vertex_json(kind, &Bytes::copy_from_slice(body)) {
        Ok(fields) => fields,
        Err(error) => return error.to_string(),
    };
    InferenceRequest::parse(kind, &fields)
        .unwrap_err()
        .to_string()
}

#[test]
fn the_json_inside_is_read_as_its_api() {
    for (kind, json, prompt, max_tokens) in [
        (
            ApiKind::VertexChat,
            r#"{"model":"m","messages":[{"content":"hi"}],"max_tokens":8,"stream":true}"#,
            r#"[{"content":"hi"}"#,
            8,
        ),
        (
            ApiKind::VertexRawPredict,
            r#"{"model":"m","input":"hello","max_output_tokens":9,"stream":true}"#,
            "hello",
            9,
        ),
        (
            ApiKind::VertexStreamRawPredict,
            r#"{"model":"m","input":[{"role":"user"}],"max_output_tokens":9,"stream":true}"#,
            r#"[{"role":"user"}"#,
            9,
        ),
    ] {
        let fields = vertex_json(kind, &request(json)).unwrap();
        let read = InferenceRequest::parse(kind, &fields).unwrap();
        assert!(matches!(read.model, ModelField::Name { name: "m", .. }));
        assert_eq!((read.stream, read.max_tokens), (true, Some(max_tokens)));
        let prompts: Vec<_> = read.prompts.iter().collect();
        let [Prompt::Text(ranges)] = prompts[..] else {
            panic!("{prompts:?}")
        };
        assert_eq!(&fields.bytes()[ranges[0].clone()], prompt.as_bytes());
    }
}

#[test]
fn says_what_is_wrong() {
    let chat = ApiKind::VertexChat;
    for (kind, body, want) in [
        (
            chat,
            b"\x01\0\0\0\0".to_vec(),
            "invalid or unsupported gRPC payload: the message is compressed",
        ),
        (
            chat,
            b"\0\0\0\0\x05".to_vec(),
            "invalid or unsupported gRPC payload: the message is incomplete",
        ),
        (
            ApiKind::VertexRawPredict,
            framed(b"\x12\x09x"),
            "unmarshaling RawPredictRequest: not a protobuf message",
        ),
        (
            ApiKind::VertexStreamRawPredict,
            framed(&bytes(1, b"projects/p")),
            "StreamRawPredictRequest has no HttpBody",
        ),
        (
            chat,
            request("[]").to_vec(),
            "parsing ChatCompletionsRequest: request body must be a JSON object",
        ),
        (
            chat,
            request(r#"{"model":"m"}"#).to_vec(),
            "parsing ChatCompletionsRequest: invalid chat completions request: \
             must have valid messages field",
        ),
    ] {
        assert_eq!(error(kind, &body), want);
    }
}
