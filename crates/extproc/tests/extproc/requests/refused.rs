//! Requests that go nowhere, and those that may go to few places.

use std::sync::Arc;

use http::HeaderValue;
use suimon_extproc::message::{Part, ProcessingRequest, Value};
use suimon_extproc::session::Settings;
use suimon_llm::Budget;

use super::{BODY, SUBSET};
use crate::support::replies::{immediate, kinds, request_headers as headers_of, value};
use crate::support::{
    self, Fixed, Talk, request_body, request_headers, response_body, response_headers, with,
};

#[test]
fn subsets_bound_the_choice() {
    let text = |text: &str| Value::Text(text.to_owned());
    for (subset, want) in [
        (text("10.0.0.2:8000"), Some("10.0.0.2:8000")),
        (text("10.0.0.2"), Some("10.0.0.2:8000")),
        (text("10.0.0.9:1,10.0.0.2:8000"), Some("10.0.0.2:8000")),
        (
            Value::List(vec![text("10.0.0.2:8000")]),
            Some("10.0.0.2:8000"),
        ),
        (
            Value::List(vec![Value::Bool(true), text("10.0.0.1")]),
            Some("10.0.0.1:8000"),
        ),
        (Value::List(vec![]), None),
        (Value::List(vec![text("10.0.0.2:1")]), None),
        (Value::Null, Some("10.0.0.1:8000")),
    ] {
        let mut talk = Talk::new(Fixed::new(2));
        talk.say(with(request_headers(&[], true), SUBSET, subset.clone()));
        let Some(want) = want else {
            let immediate = immediate(&talk.replies);
            assert_eq!(immediate.status, 503, "{subset:?}");
            let reason = value(&immediate.headers, "x-llm-d-request-dropped-reason");
            assert_eq!(reason, Some("rejected-no-endpoints"));
            continue;
        };
        let told = value(headers_of(&talk.replies), "x-gateway-destination-endpoint");
        assert_eq!(told, Some(want), "{subset:?}");
    }
}

#[test]
fn a_body_past_the_limit_is_413() {
    let settings = || Settings {
        body_limit: 10,
        ..Settings::default()
    };
    let mut talk = Talk::with(Fixed::new(1), settings());
    talk.say_all([
        request_headers(&[], false),
        request_body(vec![b' '; 11], false),
    ]);
    let refused = immediate(&talk.replies);
    assert_eq!((refused.status, talk.ended), (413, true));
    assert_eq!(
        value(&refused.headers, "content-type"),
        Some("application/json")
    );
    let body: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["error"]["code"], "body-too-large");
    assert_eq!(body["error"]["request_id"], "r-1");

    let mut talk = Talk::with(Fixed::new(1), settings());
    talk.say(request_headers(&[("content-length", "11")], false));
    assert_eq!(immediate(&talk.replies).status, 413, "by its own word");
}

#[test]
fn requests_share_the_memory_that_there_is() {
    let settings = Settings {
        budget: Arc::new(Budget::new(100)),
        ..Settings::default()
    };
    let mut first = Talk::with(Fixed::new(1), settings.clone());
    first.say_all([
        request_headers(&[], false),
        request_body(vec![b' '; 60], false),
    ]);
    let mut second = Talk::with(Fixed::new(1), settings.clone());
    second.say_all([
        request_headers(&[], false),
        request_body(vec![b' '; 60], false),
    ]);
    assert_eq!(immediate(&second.replies).status, 503);
    drop(first);
    let mut third = Talk::with(Fixed::new(1), settings);
    third.say_all([
        request_headers(&[], false),
        request_body(vec![b' '; 60], false),
    ]);
    assert!(!third.ended);
}

#[test]
fn what_goes_wrong_becomes_the_clients_response() {
    let rows = [
        (Fixed::new(0), BODY, 503, Some("rejected-no-endpoints")),
        (
            Fixed {
                saturated: true,
                ..Fixed::new(1)
            },
            BODY,
            429,
            Some("rejected-saturated"),
        ),
        (Fixed::new(1), "no healthy upstream", 400, None),
    ];
    for (picker, body, status, dropped) in rows {
        let mut talk = Talk::new(picker);
        talk.say_all([request_headers(&[], false), request_body(body, true)]);
        assert_eq!(kinds(&talk.replies), ["immediate"]);
        let refused = immediate(&talk.replies);
        assert_eq!((refused.status, talk.ended), (status, true));
        let told = value(&refused.headers, "x-llm-d-request-dropped-reason");
        assert_eq!(told, dropped);
        assert_eq!(
            value(&refused.headers, "retry-after").is_some(),
            status != 400
        );
        assert_eq!(refused.grpc_status, None);
        // A response of the proxy's own still passes.
        assert_eq!(talk.say(response_headers("application/json", false)), 0);
        assert_eq!(talk.say(response_body("{}", true)), 0);
    }
}

#[test]
fn clients_of_grpc_get_its_status() {
    let mut talk = Talk::new(Fixed::new(0));
    let head = support::head(
        &[
            (":path", "/vllm.grpc.engine.VllmEngine/Generate"),
            ("content-type", "application/grpc"),
        ],
        true,
    );
    talk.say(ProcessingRequest::of(Part::RequestHeaders(head)));
    assert_eq!(immediate(&talk.replies).grpc_status, Some(14));
}

#[test]
fn a_coded_body_is_415() {
    let mut talk = Talk::new(Fixed::new(1));
    talk.say(request_headers(&[("content-encoding", "gzip")], false));
    assert_eq!(immediate(&talk.replies).status, 415);
}

#[test]
fn the_pickers_own_answer_is_the_clients_response() {
    let mut headers = http::HeaderMap::new();
    headers.insert("content-length", HeaderValue::from_static("99"));
    headers.insert("x-why", HeaderValue::from_static("policy"));
    let answer = suimon_picker::DirectAnswer {
        status: http::StatusCode::FORBIDDEN,
        headers,
        body: bytes::Bytes::from_static(b"no"),
    };
    let mut talk = Talk::new(Fixed {
        answer: Some(answer),
        ..Fixed::new(1)
    });
    talk.say_all([request_headers(&[], false), request_body(BODY, true)]);
    let told = immediate(&talk.replies);
    assert_eq!(
        (told.status, &told.body[..], talk.ended),
        (403, &b"no"[..], true)
    );
    assert_eq!(value(&told.headers, "x-why"), Some("policy"));
    assert_eq!(value(&told.headers, "content-length"), None);
    assert_eq!(talk.session.close(support::now()).unwrap().status, 403);
}
