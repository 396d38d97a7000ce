//! Responses: what goes in comes out, however it is cut into chunks.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use suimon_llm::{ApiKind, ResponseReader, Restore, Usage};

suimon_fuzz::fuzz_target!(sse, check);

fn check(bytes: &[u8]) {
    for api in [
        ApiKind::ChatCompletions,
        ApiKind::Responses,
        ApiKind::Messages,
    ] {
        for sse in [true, false] {
            let plain = read(api, sse, None, &[bytes]);
            assert_eq!(
                plain.out, bytes,
                "without a name to put back nothing changes"
            );
            let restored = read(api, sse, Some(restore()), &[bytes]);
            for cut in cuts(bytes) {
                let (head, tail) = bytes.split_at(cut);
                assert_eq!(plain, read(api, sse, None, &[head, tail]), "cut at {cut}");
                let again = read(api, sse, Some(restore()), &[head, tail]);
                assert_eq!(restored, again, "cut at {cut}, with a name to put back");
            }
        }
    }
}

#[derive(Debug, PartialEq)]
struct Outcome {
    out: Bytes,
    usage: Option<Usage>,
    events: u64,
}

fn read(api: ApiKind, sse: bool, restore: Option<Restore>, chunks: &[&[u8]]) -> Outcome {
    let mut reader = ResponseReader::new(api, sse, restore);
    let mut out = BytesMut::new();
    for chunk in chunks {
        out.extend_from_slice(&reader.push(Bytes::copy_from_slice(chunk)));
    }
    out.extend_from_slice(&reader.finish());
    Outcome {
        out: out.freeze(),
        usage: reader.usage(),
        events: reader.events(),
    }
}

fn restore() -> Restore {
    Restore {
        target: Arc::from("tiny"),
        incoming: Arc::from("what \"they\" asked for"),
    }
}

/// Two places that depend on the bytes: a third in, and behind the first line end or quote.
fn cuts(bytes: &[u8]) -> [usize; 2] {
    let mark = bytes
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r' | b'"'));
    [bytes.len() / 3, mark.map_or(0, |at| at + 1)]
}
