use bytes::Bytes;

use super::*;
use crate::parse::InferenceRequest;

/// The prompts, each as its text or as its token ids.
fn prompts(kind: ApiKind, body: &str) -> Result<Vec<String>, String> {
    let fields = Fields::scan(Bytes::copy_from_slice(body.as_bytes())).unwrap();
    let prompts = Prompts::of(kind, &fields).map_err(|error| error.to_string())?;
    let shown = prompts.iter().map(|prompt| match prompt {
        Prompt::Tokens(ids) => format!("{ids:?}"),
        Prompt::Text(ranges) => {
            let texts: Vec<_> = ranges
                .iter()
                .map(|at| body.get(at.clone()).unwrap())
                .collect();
            texts.join("|")
        }
    });
    Ok(shown.collect())
}

#[test]
fn a_prompt_comes_in_four_shapes() {
    for (kind, field) in [
        (ApiKind::Completions, "prompt"),
        (ApiKind::Embeddings, "input"),
    ] {
        for (value, want) in [
            (r#""a×数😀""#, vec!["a×数😀"]),
            (r#"[ "a", "b,]" ]"#, vec!["a", "b,]"]),
            ("[1, 2,3]", vec!["[1, 2, 3]"]),
            ("[[1,2],[3]]", vec!["[1, 2]", "[3]"]),
            ("[1.0]", vec!["[1]"]),
        ] {
            let found = prompts(kind, &format!(r#"{{"{field}":{value}}}"#));
            let want = want.into_iter().map(str::to_owned).collect();
            assert_eq!(found, Ok(want), "{field} {value}");
        }
        for value in [
            r#"[1,"a"]"#,
            r#"["a",1]"#,
            "[-1]",
            "[1.5]",
            "[4294967296]",
            "[]",
            "[[]]",
            "[[1],2]",
            "{}",
            "null",
            "7",
            r#""""#,
            "[{}]",
        ] {
            let found = prompts(kind, &format!(r#"{{"{field}":{value}}}"#));
            assert!(found.is_err(), "{field} {value}: {found:?}");
        }
    }
}

#[test]
fn text_stands_in_the_order_of_the_engine() {
    for (kind, body, want) in [
        (
            ApiKind::ChatCompletions,
            r#"{"messages":[{"a":1}],"tools":[2]}"#,
            r#"[2]|[{"a":1}"#,
        ),
        (
            ApiKind::ChatCompletions,
            r#"{"messages":[3],"tools":null}"#,
            "[3",
        ),
        (
            ApiKind::Messages,
            r#"{"messages":[3],"system":"s","tools":[2]}"#,
            r#"[2]|"s"|[3"#,
        ),
        (
            ApiKind::Responses,
            r#"{"input":"in","tools":[2],"instructions":"be"}"#,
            r#""be"|[2]|in"#,
        ),
        (ApiKind::Responses, r#"{"input":[3]}"#, "[3"),
        (ApiKind::Conversations, r#"{"items":[1,2]}"#, "[1,2"),
        (ApiKind::Generate, r#"{"token_ids":[5,6]}"#, "[5, 6]"),
        (ApiKind::Embeddings, r#"{"messages":[3]}"#, "[3"),
    ] {
        assert_eq!(prompts(kind, body), Ok(vec![want.to_owned()]), "{body}");
    }
    for (kind, body) in [
        (ApiKind::CountTokens, "{}"),
        (ApiKind::Opaque, "{}"),
        (ApiKind::Images, r#"{"prompt":"a"}"#),
    ] {
        assert_eq!(prompts(kind, body), Ok(Vec::new()), "{body}");
    }
}

#[test]
fn says_what_is_missing() {
    for (kind, want) in [
        (
            ApiKind::ChatCompletions,
            "invalid chat completions request: must have valid messages field",
        ),
        (
            ApiKind::Completions,
            "invalid completions request: must have prompt field",
        ),
        (
            ApiKind::Embeddings,
            "invalid embeddings request: must have input field",
        ),
        (
            ApiKind::Responses,
            "invalid responses request: must have input field",
        ),
        (
            ApiKind::Conversations,
            "invalid conversations request: must have items field",
        ),
        (
            ApiKind::Images,
            "invalid images generations request: must have prompt field",
        ),
        (
            ApiKind::Messages,
            "invalid messages request: must have at least one message",
        ),
        (
            ApiKind::Generate,
            "invalid generate request: must have non-empty token_ids field",
        ),
    ] {
        assert_eq!(prompts(kind, "{}"), Err(want.to_owned()));
    }
    assert_eq!(
        prompts(ApiKind::Generate, r#"{"token_ids":[1,-2]}"#),
        Err("invalid generate request: token_ids[1]: invalid value -2".to_owned())
    );
}

#[test]
fn a_longer_conversation_starts_with_the_shorter_one() {
    let text = |body| prompts(ApiKind::ChatCompletions, body).unwrap().remove(0);
    let short = text(r#"{"messages":[{"content":"a"}],"model":"m"}"#);
    let long = text(r#"{"messages":[{"content":"a"},{"content":"b"}],"model":"m"}"#);
    assert!(long.starts_with(&short), "{long} {short}");
}

#[test]
fn estimates_round_up() {
    let tokens = Prompt::Tokens(vec![1, 2, 3]);
    assert_eq!(tokens.token_estimate(), 3);
    let text = Prompt::Text(smallvec![0..4, 9..10]);
    assert_eq!(text.token_estimate(), 2);
    assert_eq!(Prompts::from_iter([tokens, text]).token_estimate(), 5);
}

#[test]
fn sglang_takes_token_ids_or_text() {
    let read = |body: &str| prompts(ApiKind::SglangGenerate, body);
    for (body, want) in [
        (r#"{"input_ids":[1,2,3]}"#, vec!["[1, 2, 3]"]),
        (r#"{"input_ids":[[1],[2,3]]}"#, vec!["[1]", "[2, 3]"]),
        (r#"{"input_ids":[1],"text":"hello"}"#, vec!["[1]"]),
        (r#"{"input_ids":null,"text":"hello"}"#, vec!["hello"]),
        (r#"{"text":["a","b"],"extra_key":null}"#, vec!["a", "b"]),
    ] {
        let want = want.into_iter().map(str::to_owned).collect();
        assert_eq!(read(body), Ok(want), "{body}");
    }
    let uint32 = "invalid generate request: input_ids must be an array of uint32 integers";
    let provided = "invalid generate request: input_ids must be provided";
    for (body, want) in [
        ("{}", provided),
        (r#"{"text":""}"#, provided),
        (r#"{"text":[1]}"#, provided),
        (r#"{"input_ids":"1"}"#, uint32),
        (r#"{"input_ids":[1,-1]}"#, uint32),
        (r#"{"input_ids":[4294967296]}"#, uint32),
        (r#"{"input_ids":["1"]}"#, uint32),
        (r#"{"input_ids":{}}"#, uint32),
        (
            r#"{"input_ids":[ ]}"#,
            "invalid generate request: input_ids cannot be empty",
        ),
        (
            r#"{"input_ids":[1],"extra_key":7}"#,
            "unsupported generate request: extra_key must be a string",
        ),
    ] {
        assert_eq!(read(body), Err(want.to_owned()), "{body}");
    }
}

#[test]
fn sglang_has_names_of_its_own() {
    let body = r#"{"input_ids":[1],"extra_key":"t\u0031","cache_salt":"no","stream":true,"sampling_params":{"max_tokens":1,"max_new_tokens":5}}"#;
    let fields = Fields::scan(Bytes::from_static(body.as_bytes())).unwrap();
    let request = InferenceRequest::parse(ApiKind::SglangGenerate, &fields).unwrap();
    assert_eq!(request.cache_salt.as_deref(), Some("t1"));
    assert_eq!((request.stream, request.max_tokens), (true, Some(5)));
    for params in ["[{\"max_new_tokens\":5}]", "{\"max_new_tokens\":-1}"] {
        let body = format!(r#"{{"input_ids":[1],"sampling_params":{params}}}"#);
        let fields = Fields::scan(Bytes::from(body)).unwrap();
        assert_eq!(fields.max_tokens(ApiKind::SglangGenerate), None);
    }
}
