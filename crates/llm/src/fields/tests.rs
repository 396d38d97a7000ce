use super::*;

fn scan(body: &str) -> Result<Fields, ScanError> {
    Fields::scan(Bytes::copy_from_slice(body.as_bytes()))
}

fn model(body: &str) -> String {
    match scan(body).unwrap().model() {
        ModelField::Missing { insert } => format!("missing {insert:?}"),
        ModelField::NotAString => "not a string".to_owned(),
        ModelField::Name { name, range } => format!("{name} {range:?}"),
    }
}

#[test]
fn refuses_what_is_no_object() {
    for (body, want) in [
        (r#"{"model":"#, ScanError::UnexpectedEnd),
        ("", ScanError::UnexpectedEnd),
        (r#"{"model":"m"#, ScanError::UnexpectedEnd),
        ("[]", ScanError::NotAnObject),
        (r#""m-base""#, ScanError::NotAnObject),
        ("null", ScanError::NotAnObject),
        ("model=x", ScanError::Unexpected { at: 0 }),
        (r#"{"model":"m"}x"#, ScanError::Trailing { at: 13 }),
        (r#"{"model":"m"}{}"#, ScanError::Trailing { at: 13 }),
        (r#"{"a":[}]}"#, ScanError::Unexpected { at: 6 }),
        (r#"{"a":1,}"#, ScanError::Unexpected { at: 7 }),
        (r#"{"a" "b":1}"#, ScanError::Unexpected { at: 5 }),
        (r#"{"a":"b" "c"}"#, ScanError::Unexpected { at: 9 }),
        (r#"{"a":01}"#, ScanError::Unexpected { at: 5 }),
        (r#"{"model":"\x"}"#, ScanError::InvalidString { at: 9 }),
        ("{\"model\":\"a\nb\"}", ScanError::InvalidString { at: 9 }),
    ] {
        assert_eq!(scan(body).unwrap_err(), want, "{body}");
    }
    let bytes = Bytes::from_static(b"{\xff\xfe}");
    assert_eq!(Fields::scan(bytes).unwrap_err(), ScanError::NotUtf8);
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize, close: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(close));
        scan(&format!(r#"{{"model":"m","messages":{open}{close}}}"#)).map(|_| ())
    };
    assert_eq!(nested(127, 127), Ok(()));
    assert_eq!(nested(128, 128), Err(ScanError::TooDeep));
    assert_eq!(nested(100_000, 0), Err(ScanError::TooDeep));
}

#[test]
fn finds_the_model() {
    assert_eq!(model(r#"{"model":"m"}"#), "m 9..12");
    assert_eq!(
        model(r#"{"a":{"model":"x"}, "model" : "m\u00e9/\"" }"#),
        "mé/\" 30..42"
    );
    assert_eq!(model(r#"{"model":"a","model":"b"}"#), "b 21..24");
    assert_eq!(model(r#"{"mod\u0065l":"m"}"#), "m 14..17");
    assert_eq!(model(r#"{"MODEL":"m"}"#), "missing 1..1");
    assert_eq!(model(" {}"), "missing 2..2");
    assert_eq!(model(r#"{"model":null}"#), "missing 9..13");
    assert_eq!(model(r#"{"model":""}"#), "missing 9..11");
    assert_eq!(model(r#"{"model":7}"#), "not a string");
    assert_eq!(model(r#"{"model":["m"]}"#), "not a string");
    assert_eq!(model(r#"{"x":"\"model\":\"y\\","model":"m"}"#), "m 31..34");
}

#[test]
fn a_stream_is_asked_for_by_true_alone() {
    assert!(scan(r#"{"stream": true }"#).unwrap().stream());
    for body in [
        r#"{"stream":"true"}"#,
        r#"{"stream":1}"#,
        r#"{"stream":false}"#,
        "{}",
    ] {
        assert!(!scan(body).unwrap().stream(), "{body}");
    }
}

#[test]
fn takes_the_first_limit_that_is_a_count() {
    for (kind, body, want) in [
        (
            ApiKind::ChatCompletions,
            r#"{"max_tokens":5,"max_completion_tokens":7}"#,
            Some(7),
        ),
        (
            ApiKind::ChatCompletions,
            r#"{"max_tokens":5,"max_completion_tokens":-7}"#,
            Some(5),
        ),
        (ApiKind::ChatCompletions, r#"{"max_tokens":"5"}"#, None),
        (ApiKind::Completions, r#"{"max_tokens":0}"#, Some(0)),
        (ApiKind::Completions, r#"{"max_tokens":1.5}"#, None),
        (ApiKind::Completions, r#"{"max_tokens":1e2}"#, Some(100)),
        (ApiKind::Completions, r#"{"max_tokens":1e308}"#, None),
        (ApiKind::Responses, r#"{"max_output_tokens":8}"#, Some(8)),
        (
            ApiKind::Generate,
            r#"{"max_tokens":1,"sampling_params":{"x":[],"max_tokens":4}}"#,
            Some(4),
        ),
        (ApiKind::Generate, r#"{"sampling_params":"max"}"#, None),
        (ApiKind::Embeddings, r#"{"max_tokens":5}"#, None),
    ] {
        assert_eq!(scan(body).unwrap().max_tokens(kind), want, "{body}");
    }
}

#[test]
fn a_salt_is_a_string() {
    let salt = |body: &str| scan(body).unwrap().cache_salt().map(Cow::into_owned);
    assert_eq!(salt(r#"{"cache_salt":"t1"}"#).as_deref(), Some("t1"));
    assert_eq!(salt(r#"{"cache_salt":"t\u0031"}"#).as_deref(), Some("t1"));
    assert_eq!(salt(r#"{"cache_salt":1}"#), None);
    assert_eq!(salt("{}"), None);
}

#[test]
fn long_text_with_escapes_does_not_hide_what_follows() {
    for len in 100..340 {
        for run in 0..4 {
            let (text, slashes) = ("x".repeat(len), r"\\".repeat(run));
            let body = format!(r#"{{"p":"{text}{slashes}\"{text}{slashes}","model":"m"}}"#);
            let fields = scan(&body).unwrap();
            let ModelField::Name { name, .. } = fields.model() else {
                panic!("no model: {body}");
            };
            assert_eq!(name, "m", "{body}");
        }
    }
}
