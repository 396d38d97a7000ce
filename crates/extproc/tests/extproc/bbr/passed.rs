//! Requests that go on as they are.

use suimon_extproc::bbr::{Found, Settings};
use suimon_extproc::message::{BodyMode, Part, ProcessingRequest};

use super::{MODEL, Talk, settings};
use crate::support::replies::{common, kinds, request_headers as mutation, streamed};
use crate::support::{head, modes, request_body, request_headers, response_headers};

#[test]
fn a_request_without_a_body_is_answered_at_once() {
    for mut talk in [Talk::new(), Talk::strict()] {
        talk.say(request_headers(&[], true));
        assert_eq!(common(&talk.replies[0]), &Default::default());
        assert!(talk.ended_well());
        assert_eq!(talk.found(), Some(Found::Nothing));
    }
}

#[test]
fn copies_of_the_client_go_without_a_body_too() {
    let mut talk = Talk::new();
    talk.say(request_headers(&[("X-Gateway-Model-Name", "a")], true));
    let answer = common(&talk.replies[0]);
    assert_eq!(answer.headers.remove, ["X-Gateway-Model-Name"]);
    assert!(answer.headers.set.is_empty() && answer.clear_route_cache);
}

#[test]
fn a_body_without_a_model_goes_on_without_headers() {
    for (body, found) in [
        (r#"{"messages":[]}"#, Found::NoModel),
        (r#"{"model":""}"#, Found::EmptyModel),
        (r#"{"model":null}"#, Found::EmptyModel),
        (r#"{"model":3}"#, Found::Unreadable),
        (r#"{"model":"a\u0000b"}"#, Found::Unreadable),
        (r#"{"model":"#, Found::Unreadable),
        ("not json", Found::Unreadable),
        ("", Found::Nothing),
    ] {
        let mut talk = Talk::new();
        let spoofed = [("x-gateway-model-name", "a")];
        talk.say_all([request_headers(&spoofed, false), request_body(body, true)]);
        let headers = mutation(&talk.replies);
        assert!(headers.set.is_empty(), "{body}");
        assert_eq!(headers.remove, [MODEL]);
        let (sent, end, _) = streamed(&talk.replies, true);
        assert_eq!((sent, end), (body.as_bytes().to_vec(), Some(0)));
        assert_eq!(talk.found(), Some(found), "{body}");
    }
}

#[test]
fn forms_pass_as_they_come_however_long() {
    for strict in [false, true] {
        let mut talk = Talk::with(Settings {
            body_limit: 50,
            strict,
            ..settings()
        });
        let headers = [
            (":method", "POST"),
            ("content-type", "Multipart/Form-Data; boundary=x"),
            ("content-length", "120"),
        ];
        talk.say(ProcessingRequest::of(Part::RequestHeaders(head(
            &headers, false,
        ))));
        assert_eq!(talk.replies.len(), 1);
        assert_eq!(talk.say(request_body("x".repeat(60), false)), 1);
        assert_eq!(talk.say(request_body("y".repeat(60), true)), 1);
        let (sent, end, _) = streamed(&talk.replies, true);
        assert_eq!((sent.len(), end), (120, Some(1)));
        assert_eq!(talk.found(), Some(Found::Nothing));
    }
}

#[test]
fn methods_without_a_body_are_not_read() {
    for method in ["GET", "HEAD", "OPTIONS", "CONNECT"] {
        let mut talk = Talk::strict();
        let headers = head(&[(":method", method), (":path", "/v1/models")], false);
        assert_eq!(
            talk.say(ProcessingRequest::of(Part::RequestHeaders(headers))),
            1
        );
        assert_eq!(talk.say(request_body("{}", false)), 1, "{method}: at once");
        assert_eq!(streamed(&talk.replies, true).0, b"{}");
        assert!(talk.end.is_none(), "the response may be on its way");
    }
}

#[test]
fn encoded_bodies_and_calls_of_grpc_pass_as_they_come() {
    for header in [
        ("content-encoding", "gzip"),
        ("content-type", "application/grpc"),
    ] {
        let mut talk = Talk::new();
        let headers = head(&[(":method", "POST"), header], false);
        assert_eq!(
            talk.say(ProcessingRequest::of(Part::RequestHeaders(headers))),
            1
        );
        assert_eq!(talk.say(request_body(vec![1, 2], false)), 1);
        talk.say(response_headers("application/grpc", false));
        assert_eq!(
            talk.say(request_body(vec![3], true)),
            1,
            "both ways at once"
        );
        let (sent, end, _) = streamed(&talk.replies, true);
        assert_eq!((sent, end), (vec![1, 2, 3], Some(1)), "{header:?}");
    }
}

#[test]
fn a_held_form_ends_the_stream() {
    let mut talk = Talk::new();
    let headers = head(
        &[(":method", "POST"), ("content-type", "multipart/form-data")],
        false,
    );
    let headers = ProcessingRequest::of(Part::RequestHeaders(headers));
    talk.say(modes(headers, BodyMode::BUFFERED, BodyMode::NONE));
    talk.say(request_body("--x--", true));
    assert_eq!(kinds(&talk.replies), ["request headers", "request body"]);
    assert_eq!(common(&talk.replies[1]), &Default::default());
    assert!(talk.ended_well());
}
