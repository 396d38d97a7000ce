use super::*;

fn restore() -> Restore {
    Restore {
        target: Arc::from("llama3-canary"),
        incoming: Arc::from("llama3"),
    }
}

/// What comes out of `reader` for `chunks`, and the usage.
fn run(mut reader: ResponseReader, chunks: &[&[u8]]) -> (Vec<u8>, Option<Usage>, u64) {
    let mut out = Vec::new();
    for chunk in chunks {
        out.extend_from_slice(&reader.push(Bytes::copy_from_slice(chunk)));
    }
    out.extend_from_slice(&reader.finish());
    (out, reader.usage(), reader.events())
}

const STREAM: &str = concat!(
    "data: {\"model\":\"llama3-canary\",\"choices\":[{\"delta\":{\"content\":",
    "\"×\\\"model\\\":\\\"llama3-canary\\\"\"}}],\"usage\":null}\n\n",
    "data: {\"model\": \"llama3-canary\",\"x\":{\"model\":\"llama3-canary\"}}\r\n\r\n",
    "data: {\"model\":\"other\"}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n",
    "data: [DONE]\n\n",
);

#[test]
fn any_two_cuts_of_a_stream_give_the_same() {
    let renamed = STREAM
        .replacen(r#""model":"llama3-canary""#, r#""model":"llama3""#, 1)
        .replacen(r#""model": "llama3-canary""#, r#""model": "llama3""#, 1);
    let usage = Usage {
        prompt: Some(7),
        completion: Some(3),
        cached: None,
    };
    let bytes = STREAM.as_bytes();
    for (restore, want) in [(None, STREAM), (Some(restore()), renamed.as_str())] {
        for first in 0..=bytes.len() {
            for second in (first..=bytes.len()).step_by(7) {
                let reader = ResponseReader::new(ApiKind::ChatCompletions, true, restore.clone());
                let cut = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let (out, found, events) = run(reader, &cut);
                assert_eq!(String::from_utf8_lossy(&out), want, "{first} {second}");
                assert_eq!((found, events), (Some(usage), 4), "{first} {second}");
            }
        }
    }
}

#[test]
fn without_a_name_to_restore_chunks_are_not_copied() {
    for (sse, body) in [(true, STREAM), (false, r#"{"usage":{"prompt_tokens":7}}"#)] {
        let mut reader = ResponseReader::new(ApiKind::ChatCompletions, sse, None);
        let chunk = Bytes::from_static(body.as_bytes());
        assert_eq!(reader.push(chunk.clone()).as_ptr(), chunk.as_ptr());
        assert_eq!(reader.finish(), Bytes::new());
        assert_eq!(reader.usage().and_then(|usage| usage.prompt), Some(7));
    }
}

#[test]
fn an_event_leaves_with_its_last_byte() {
    let mut reader = ResponseReader::new(ApiKind::ChatCompletions, true, Some(restore()));
    assert_eq!(
        reader.push(Bytes::from_static(b"data: {\"model\":\"llama")),
        ""
    );
    assert_eq!(
        reader.push(Bytes::from_static(b"3-canary\"}\n\nda")),
        "data: {\"model\":\"llama3\"}\n\n"
    );
    assert_eq!(reader.held(), 2);
}

#[test]
fn restores_the_name_in_each_api() {
    for (api, sse, body, want) in [
        (
            ApiKind::Responses,
            true,
            "data: {\"response\":{\"model\":\"llama3-canary\"}}\n\n",
            "data: {\"response\":{\"model\":\"llama3\"}}\n\n",
        ),
        (
            ApiKind::Messages,
            true,
            "data: {\"message\":{\"model\":\"llama3\\u002dcanary\"}}\n\n",
            "data: {\"message\":{\"model\":\"llama3\"}}\n\n",
        ),
        (
            ApiKind::ChatCompletions,
            true,
            "data: {\ndata: \"model\":\"llama3-canary\"}\n\n",
            "data: {\ndata: \"model\":\"llama3\"}\n\n",
        ),
        (
            ApiKind::ChatCompletions,
            false,
            r#"{"a":"\"model\":\"llama3-canary\"","model" : "llama3-canary"}"#,
            r#"{"a":"\"model\":\"llama3-canary\"","model" : "llama3"}"#,
        ),
        (
            ApiKind::ChatCompletions,
            false,
            r#"{"model":"llama3-canary","#,
            r#"{"model":"llama3-canary","#,
        ),
    ] {
        for cut in 0..=body.len() {
            let (head, tail) = body.as_bytes().split_at(cut);
            let reader = ResponseReader::new(api, sse, Some(restore()));
            let (out, _, _) = run(reader, &[head, tail]);
            assert_eq!(String::from_utf8_lossy(&out), want, "{cut}");
        }
    }
}

#[test]
fn a_response_past_the_limit_passes_unchanged() {
    let body = r#"{"model":"llama3-canary","usage":{"prompt_tokens":7}}"#;
    let mut reader =
        ResponseReader::new(ApiKind::ChatCompletions, false, Some(restore())).with_limit(20);
    let (head, tail) = body.split_at(10);
    assert_eq!(reader.push(Bytes::from_static(head.as_bytes())), "");
    assert_eq!(reader.push(Bytes::from_static(tail.as_bytes())), body);
    assert_eq!(reader.finish(), "");
    assert_eq!(reader.usage().and_then(|usage| usage.prompt), Some(7));
}

#[test]
fn a_long_response_is_not_kept() {
    let usage = br#""usage":{"prompt_tokens":7}"#.as_slice();
    let numbers = b"0.25,".repeat(16 * 1024);
    for front in [true, false] {
        let mut reader = ResponseReader::new(ApiKind::Embeddings, false, None);
        let mut push = |bytes: &[u8]| {
            let _ = reader.push(Bytes::copy_from_slice(bytes));
            assert!(reader.held() <= 1024 * 1024 + numbers.len());
        };
        push(b"{");
        if front {
            push(usage);
            push(b",");
        }
        push(b"\"data\":[");
        for _ in 0..64 {
            push(&numbers);
        }
        push(b"0]");
        if !front {
            push(b",");
            push(usage);
        }
        push(b"}");
        assert!(reader.held() < 256 * 1024, "{}", reader.held());
        assert_eq!(reader.finish(), "");
        let prompt = reader.usage().and_then(|usage| usage.prompt);
        assert_eq!(prompt, Some(7), "usage in front: {front}");
    }
}

#[test]
fn usage_that_comes_in_parts_is_merged() {
    for delta in [
        r#"{"input_tokens":9,"cache_read_input_tokens":1,"output_tokens":25}"#,
        r#"{"output_tokens":25}"#,
    ] {
        let start = concat!(
            "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":9,",
            "\"cache_read_input_tokens\":1,\"output_tokens\":1}}}\n\n",
        );
        let delta = format!("event: message_delta\ndata: {{\"usage\":{delta}}}\n\n");
        let reader = ResponseReader::new(ApiKind::Messages, true, None);
        let (_, usage, _) = run(reader, &[start.as_bytes(), delta.as_bytes()]);
        let want = Usage {
            prompt: Some(9),
            completion: Some(25),
            cached: Some(1),
        };
        assert_eq!(usage, Some(want));
    }
}
