//! The request's half of a session.

mod modes;
mod refused;

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderName, HeaderValue};
use suimon_extproc::message::{Part, ProcessingRequest, Value};
use suimon_extproc::session::{Destinations, Next, Session, Settings};
use suimon_picker::Unreadable;

use crate::support::replies::{kinds, request_headers as headers_of, streamed, value};
use crate::support::{self, Fixed, Talk, request_body, request_headers, request_trailers, with};

const BODY: &str = r#"{"model":"base","messages":[{"role":"user","content":"hi"}]}"#;
const SUBSET: (&str, &str) = (
    "envoy.lb.subset_hint",
    "x-gateway-destination-endpoint-subset",
);

#[test]
fn nothing_is_said_before_the_decision() {
    let mut talk = Talk::new(Fixed::new(2));
    assert_eq!(talk.say(request_headers(&[], false)), 0);
    assert_eq!(talk.say(request_body(&BODY.as_bytes()[..10], false)), 0);
    assert_eq!(talk.say(request_body(&BODY.as_bytes()[10..], false)), 0);
    assert_eq!(talk.say(request_body("", true)), 2);
    assert_eq!(kinds(&talk.replies), ["request headers", "request body"]);
    let set = headers_of(&talk.replies);
    assert_eq!(
        value(set, "x-gateway-destination-endpoint"),
        Some("10.0.0.1:8000")
    );
    assert_eq!(value(set, "content-length"), None, "as it is");
    let metadata = talk.replies[0].dynamic_metadata.as_ref().unwrap();
    let Some(Value::Struct(balancing)) = metadata.get("envoy.lb") else {
        panic!("no metadata")
    };
    let told = balancing.get("x-gateway-destination-endpoint");
    assert_eq!(told, Some(&Value::Text("10.0.0.1:8000".to_owned())));
    assert_eq!(
        streamed(&talk.replies, true),
        (BODY.into(), Some(0), vec![BODY.len()])
    );
    assert_eq!(talk.picker.in_flight(), [1, 0]);
}

#[test]
fn a_request_of_headers_alone_is_picked_for() {
    let mut talk = Talk::new(Fixed::new(3));
    let subset = Value::Text("10.0.0.3:8000".to_owned());
    talk.say(with(request_headers(&[], true), SUBSET, subset));
    assert_eq!(kinds(&talk.replies), ["request headers"]);
    let set = headers_of(&talk.replies);
    assert_eq!(
        value(set, "x-gateway-destination-endpoint"),
        Some("10.0.0.3:8000")
    );
    assert_eq!(talk.picker.in_flight(), [0, 0, 1]);
}

#[test]
fn trailers_end_a_request() {
    let mut talk = Talk::new(Fixed::new(1));
    talk.say(request_headers(&[], false));
    talk.say(request_body(BODY, false));
    talk.say(request_trailers());
    assert_eq!(
        kinds(&talk.replies),
        ["request headers", "request body", "request trailers"]
    );
    assert_eq!(
        streamed(&talk.replies, true),
        (BODY.into(), None, vec![BODY.len()])
    );
}

#[test]
fn bodies_go_out_in_pieces_and_end_once() {
    for (size, pieces) in [
        (61_999, vec![61_999]),
        (62_000, vec![62_000]),
        (62_001, vec![62_000, 1]),
        (124_000, vec![62_000, 62_000]),
        (124_001, vec![62_000, 62_000, 1]),
    ] {
        let around = r#"{"model":"base","x":""}"#.len();
        let body = format!(r#"{{"model":"base","x":"{}"}}"#, "x".repeat(size - around));
        let mut talk = Talk::new(Fixed::new(1));
        talk.say(request_headers(&[], false));
        for chunk in body.as_bytes().chunks(30_000) {
            talk.say(request_body(chunk.to_vec(), false));
        }
        talk.say(request_body("", true));
        let last = pieces.len() - 1;
        assert_eq!(
            streamed(&talk.replies, true),
            (body.into(), Some(last), pieces)
        );
    }
}

#[test]
fn an_end_that_comes_twice_counts_once() {
    let mut talk = Talk::new(Fixed::new(1));
    talk.say(request_headers(&[], false));
    talk.say(request_body(&BODY.as_bytes()[..5], false));
    talk.say(request_body(&BODY.as_bytes()[5..], true));
    assert_eq!(talk.say(request_body(&BODY.as_bytes()[5..], true)), 0);
    assert_eq!(streamed(&talk.replies, true).0, BODY.as_bytes());
    assert_eq!(talk.picker.in_flight(), [1]);
    assert!(!talk.ended);
}

#[test]
fn another_model_changes_the_name_and_the_length_alone() {
    let mut talk = Talk::new(Fixed::renaming("a-longer-name"));
    let length = BODY.len().to_string();
    talk.say(request_headers(
        &[("content-length", &length), ("accept-encoding", "gzip")],
        false,
    ));
    talk.say(request_body(BODY, true));
    let want = BODY.replace("base", "a-longer-name");
    assert_eq!(streamed(&talk.replies, true).0, want.as_bytes());
    let set = headers_of(&talk.replies);
    assert_eq!(value(set, "content-length"), Some(&*want.len().to_string()));
    assert_eq!(
        set.remove,
        ["accept-encoding"],
        "an answer that can be read"
    );
}

#[test]
fn without_a_length_none_is_set() {
    let mut talk = Talk::new(Fixed::renaming("x"));
    talk.say_all([request_headers(&[], false), request_body(BODY, true)]);
    assert_eq!(value(headers_of(&talk.replies), "content-length"), None);
}

#[test]
fn headers_of_the_gateway_are_removed_or_replaced() {
    let mut talk = Talk::new(Fixed {
        set_headers: [(
            HeaderName::from_static("x-prefiller-host-port"),
            HeaderValue::from_static("10.0.0.9:1"),
        )]
        .into_iter()
        .collect(),
        remove_headers: vec![HeaderName::from_static("x-secret")],
        ..Fixed::new(1)
    });
    let injected = [
        ("x-gateway-destination-endpoint", "169.254.169.254:80"),
        ("x-gateway-destination-endpoint-subset", "10.9.9.9"),
        ("X-Gateway-Model-Name", "other"),
        ("x-prefiller-host-port", "10.9.9.9:1"),
        ("x_encoder_hosts_ports", "10.9.9.9:1"),
        ("x-encoder-hosts-ports", "10.9.9.9:1"),
        ("x-encoder-hosts-ports", "10.9.9.8:1"),
        ("x-llm-d-inference-objective", "stays"),
    ];
    talk.say(request_headers(&injected, true));
    let set = headers_of(&talk.replies);
    assert_eq!(
        value(set, "x-gateway-destination-endpoint"),
        Some("10.0.0.1:8000")
    );
    assert_eq!(value(set, "x-prefiller-host-port"), Some("10.0.0.9:1"));
    assert_eq!(
        set.remove,
        [
            "x-secret",
            "x-gateway-destination-endpoint-subset",
            "X-Gateway-Model-Name",
            "x_encoder_hosts_ports",
            "x-encoder-hosts-ports",
        ]
    );
}

#[test]
fn an_id_is_made_where_there_is_none_that_is_sane() {
    for (id, made) in [("r-1", false), ("a b", true), ("", true)] {
        let mut talk = Talk::new(Fixed::new(1));
        let head = support::head(&[(":path", "/v1/models"), ("x-request-id", id)], true);
        talk.say(ProcessingRequest::of(Part::RequestHeaders(head)));
        let set = value(headers_of(&talk.replies), "x-request-id");
        assert_eq!(set.is_some(), made, "{id}");
    }
}

#[test]
fn further_endpoints_are_told_to_those_that_take_them() {
    let settings = Settings {
        destinations: Destinations::All,
        ..Settings::default()
    };
    let mut talk = Talk::with(Fixed::new(3), settings);
    talk.say(request_headers(&[], true));
    let told = value(headers_of(&talk.replies), "x-gateway-destination-endpoint");
    assert_eq!(told, Some("10.0.0.1:8000,10.0.0.2:8000,10.0.0.3:8000"));
}

#[test]
fn the_pickers_own_body_and_its_headers_go_out() {
    let name = HeaderName::from_static("x-many");
    let mut set_headers = http::HeaderMap::new();
    for value in ["a", "b"] {
        set_headers.append(name.clone(), HeaderValue::from_static(value));
    }
    let mut talk = Talk::new(Fixed {
        body: Some(bytes::Bytes::from_static(b"another body")),
        set_headers,
        ..Fixed::new(1)
    });
    let length = BODY.len().to_string();
    talk.say(request_headers(&[("content-length", &length)], false));
    talk.say(request_body(BODY, true));
    assert_eq!(streamed(&talk.replies, true).0, b"another body");
    let headers = headers_of(&talk.replies);
    assert_eq!(value(headers, "content-length"), Some("12"));
    let many = headers
        .set
        .iter()
        .filter(|set| set.header.name == name.as_str());
    let overwrites: Vec<_> = many.map(|set| set.overwrites()).collect();
    assert_eq!(
        overwrites,
        [true, false],
        "all of its values, none of the client's"
    );
}

#[test]
fn what_becomes_of_unreadable_bodies_and_of_subsets_is_a_setting() {
    for (unreadable, subsets) in [(Unreadable::Pass, true), (Unreadable::Refuse, false)] {
        let settings = Settings {
            unreadable,
            subsets,
            ..Settings::default()
        };
        let mut session = Session::new(Arc::new(settings));
        let (now, mut out) = (Instant::now(), Vec::new());
        let subset = Value::Text("10.0.0.3:8000".to_owned());
        let head = with(request_headers(&[], false), SUBSET, subset);
        assert!(matches!(session.on(head, now, &mut out), Next::Wait));
        let next = session.on(request_body("{", true), now, &mut out);
        let Next::Pick(question) = next else {
            panic!("{next:?}");
        };
        let request = question.request();
        assert_eq!(request.unreadable, unreadable);
        assert_eq!(request.subset.is_some(), subsets);
    }
}
