//! Bodies of gRPC messages: ranges stay inside, and what goes in comes out, however it is cut.

use bytes::Bytes;
use suimon_llm::{ApiKind, InferenceRequest, Prompt, ResponseReader, Usage, vertex_json};

suimon_fuzz::fuzz_target!(grpc_body, check);

const KINDS: [ApiKind; 5] = [
    ApiKind::VllmGrpcGenerate,
    ApiKind::VllmGrpcEmbed,
    ApiKind::VertexChat,
    ApiKind::VertexRawPredict,
    ApiKind::VertexStreamRawPredict,
];

fn check(bytes: &[u8]) {
    let body = Bytes::copy_from_slice(bytes);
    for kind in KINDS {
        request(kind, &body);
        let whole = usage(kind, &[bytes]);
        let cut = bytes.len() / 2;
        for cut in [1.min(bytes.len()), cut, bytes.len()] {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(whole, usage(kind, &[head, tail]), "cut at {cut}");
        }
    }
}

fn request(kind: ApiKind, body: &Bytes) {
    if kind.is_vertex() {
        if let Ok(fields) = vertex_json(kind, body)
            && let Ok(request) = InferenceRequest::parse(kind, &fields)
        {
            check_ranges(&request, fields.bytes());
        }
    } else if let Ok(request) = InferenceRequest::parse_grpc(kind, body) {
        check_ranges(&request, body);
    }
}

fn check_ranges(request: &InferenceRequest<'_>, body: &[u8]) {
    for prompt in &request.prompts {
        if let Prompt::Text(ranges) = prompt {
            assert!(ranges.iter().all(|range| body.get(range.clone()).is_some()));
        }
    }
}

fn usage(kind: ApiKind, chunks: &[&[u8]]) -> Option<Usage> {
    let mut reader = ResponseReader::new(kind, false, None);
    for chunk in chunks {
        let chunk = Bytes::copy_from_slice(chunk);
        assert_eq!(reader.push(chunk.clone()), chunk);
    }
    assert!(reader.finish().is_empty());
    reader.usage()
}
