//! The request's half of a session.

use std::sync::Arc;

use crate::support::replies::{
    common, immediate, kinds, request_headers as headers_of, streamed, value,
};
use crate::support::{
    self, Fixed, Talk, modes, request_body, request_headers, request_trailers, response_body,
    response_headers, with,
};
use http::{HeaderName, HeaderValue};
use suimon_extproc::message::{BodyMode, BodyMutation, Part, ProcessingRequest, Value};
use suimon_extproc::session::{Destinations, Settings};
use suimon_llm::Budget;

const BODY: &str = r#"{"model":"base","messages":[{"role":"user","content":"hi"}]}"#;
const SUBSET: (&str, &str) = (
    "envoy.lb.subset_hint",
    "x-gateway-destination-endpoint-subset",
);

#[test]
fn nothing_is_said_before_the_decision() {
    let mut talk = Talk::new(Fixed::new(2));
    assert_eq!(talk.say(request_headers(&[], false)), 0);
    assert_eq!(talk.say(request_body(&BODY[..10], false)), 0);
    assert_eq!(talk.say(request_body(&BODY[10..], false)), 0);
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
    talk.say(request_body(&BODY[..5], false));
    talk.say(request_body(&BODY[5..], true));
    assert_eq!(talk.say(request_body(&BODY[5..], true)), 0);
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
fn a_buffered_body_is_answered_in_place() {
    let buffered = |message| modes(message, BodyMode::BUFFERED, BodyMode::NONE);
    let mut talk = Talk::new(Fixed::renaming("other"));
    let length = BODY.len().to_string();
    let head = request_headers(&[("content-length", &length)], false);
    assert_eq!(talk.say(buffered(head)), 1, "the proxy waits for it");
    assert_eq!(*common(&talk.replies[0]), Default::default());
    assert_eq!(talk.say(request_body(BODY, false)), 1);
    let answer = common(&talk.replies[1]);
    let told = value(&answer.headers, "x-gateway-destination-endpoint");
    assert_eq!(told, Some("10.0.0.1:8000"));
    let want = BODY.replace("base", "other");
    assert_eq!(
        answer.body,
        Some(BodyMutation::Replace(want.clone().into()))
    );
    assert_eq!(
        value(&answer.headers, "content-length"),
        Some(&*want.len().to_string())
    );
    assert!(answer.clear_route_cache);
    assert_eq!(talk.say(request_trailers()), 1);

    let mut talk = Talk::new(Fixed::new(1));
    talk.say_all([
        buffered(request_headers(&[], false)),
        request_body(BODY, true),
    ]);
    assert_eq!(common(&talk.replies[1]).body, None, "not sent back");
    assert_eq!(talk.say(request_trailers()), 0, "the body was the end");
}

#[test]
fn a_body_that_the_proxy_cut_is_413() {
    let mut talk = Talk::new(Fixed::new(1));
    let head = request_headers(&[], false);
    talk.say(modes(head, BodyMode::BUFFERED_PARTIAL, BodyMode::NONE));
    talk.say(request_body(&BODY[..20], false));
    assert_eq!(immediate(&talk.replies).status, 413);
}

#[test]
fn a_body_that_only_streams_by_is_picked_for_by_headers() {
    let mut talk = Talk::new(Fixed::renaming("other"));
    let head = request_headers(&[], false);
    assert_eq!(talk.say(modes(head, BodyMode::STREAMED, BodyMode::NONE)), 1);
    let told = value(headers_of(&talk.replies), "x-gateway-destination-endpoint");
    assert_eq!(told, Some("10.0.0.1:8000"));
    for end in [false, false, true] {
        assert_eq!(talk.say(request_body(BODY, end)), 1, "each chunk waits");
        assert_eq!(*common(talk.replies.last().unwrap()), Default::default());
    }
    assert_eq!(talk.say(request_body(BODY, true)), 0);
    assert_eq!(talk.say(request_trailers()), 0);
}

#[test]
fn who_only_watches_is_not_answered() {
    let mut talk = Talk::new(Fixed::new(1));
    let watch = |mut message: ProcessingRequest| {
        message.observability = true;
        message
    };
    talk.say_all([
        watch(request_headers(&[], false)),
        watch(request_body(BODY, true)),
        watch(response_headers("application/json", false)),
        watch(response_body("{}", true)),
    ]);
    assert!(talk.replies.is_empty() && !talk.ended);
}
