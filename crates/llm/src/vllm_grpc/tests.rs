use super::*;
use crate::grpc::tests::framed;
use crate::parse::InferenceRequest;
use crate::protobuf::tests::{bytes, number, varint_of};

const GENERATE: ApiKind = ApiKind::VllmGrpcGenerate;
const EMBED: ApiKind = ApiKind::VllmGrpcEmbed;

fn packed(ids: &[u64]) -> Vec<u8> {
    ids.iter().flat_map(|id| varint_of(*id)).collect()
}

fn tokenized(ids: &[u64]) -> Vec<u8> {
    [bytes(1, b"original"), bytes(2, &packed(ids))].concat()
}

fn error(kind: ApiKind, body: &[u8]) -> String {
    Request::read(kind, body).unwrap_err().to_string()
}

#[test]
fn text_is_a_range_of_the_body() {
    let message = [
        bytes(1, b"id"),
        bytes(3, "Grüße".as_bytes()),
        bytes(4, &[number(1, 9), number(8, 64)].concat()),
        number(5, 1),
    ];
    let body = framed(&message.concat());
    let request = InferenceRequest::parse_grpc(GENERATE, &body).unwrap();
    assert_eq!((request.stream, request.max_tokens), (true, Some(64)));
    let prompts: Vec<_> = request.prompts.iter().collect();
    let [Prompt::Text(ranges)] = prompts[..] else {
        panic!("{prompts:?}")
    };
    assert_eq!(&body[ranges[0].clone()], "Grüße".as_bytes());
}

#[test]
fn token_ids_come_packed_or_one_by_one() {
    let want = Prompts::from_iter([Prompt::Tokens(vec![1, 300, u32::MAX])]);
    let ids = [1, 300, u64::from(u32::MAX)];
    let singly: Vec<u8> = ids.iter().flat_map(|id| number(2, *id)).collect();
    let halves = [bytes(2, &packed(&ids[..1])), bytes(2, &packed(&ids[1..]))];
    for input in [tokenized(&ids), singly, halves.concat()] {
        for kind in [GENERATE, EMBED] {
            let body = framed(&bytes(2, &input));
            assert_eq!(Request::read(kind, &body).unwrap().prompts, want);
        }
    }
    // The same message twice is one message.
    let twice = [
        bytes(2, &tokenized(&ids[..1])),
        bytes(2, &tokenized(&ids[1..])),
    ];
    let request = Request::read(GENERATE, &framed(&twice.concat())).unwrap();
    assert_eq!(request.prompts, want);
    let last = [bytes(3, b"text"), bytes(2, &tokenized(&ids))];
    let request = Request::read(GENERATE, &framed(&last.concat())).unwrap();
    assert_eq!(request.prompts, want, "of two inputs the last counts");
}

#[test]
fn says_what_is_missing() {
    let frame = "invalid or unsupported gRPC payload";
    for body in [&b""[..], b"\x01\0\0\0\0", b"\0\0\0\0\x09x", b"{}"] {
        assert_eq!(error(GENERATE, body), frame);
    }
    let nothing = framed(&number(5, 1));
    assert_eq!(error(GENERATE, &nothing), "not supported request inputType");
    let text = framed(&bytes(3, b"x"));
    assert_eq!(
        error(EMBED, &text),
        "missing tokenized input in EmbedRequest"
    );
    for broken in [b"\x12".to_vec(), bytes(2, b"\x12\x05x"), bytes(4, b"\x40")] {
        assert_eq!(
            error(GENERATE, &framed(&broken)),
            "unmarshaling GenerateRequest: not a protobuf message"
        );
    }
}

#[test]
fn usage_is_read_by_method() {
    let want = |prompt, completion, cached| {
        Some(Usage {
            prompt,
            completion,
            cached,
        })
    };
    let chunk = [
        bytes(1, &packed(&[7])),
        number(2, 12),
        number(3, 3),
        number(4, 8),
    ];
    let chunk = bytes(1, &chunk.concat());
    assert_eq!(usage(GENERATE, &chunk), want(Some(12), Some(3), Some(8)));
    let complete = [bytes(2, b"stop"), number(3, 12), number(4, 5)];
    let complete = bytes(2, &complete.concat());
    assert_eq!(usage(GENERATE, &complete), want(Some(12), Some(5), None));
    let embedding = [bytes(1, &[0; 16]), number(2, 9), number(3, 4)].concat();
    assert_eq!(usage(EMBED, &embedding), want(Some(9), None, None));
    for nothing in [
        bytes(1, &number(4, 8)),
        bytes(2, b""),
        b"\x0a\x09x".to_vec(),
    ] {
        assert_eq!(usage(GENERATE, &nothing), None, "{nothing:?}");
    }
}
