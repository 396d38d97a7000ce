//! The response's half of a session.

use bytes::Bytes;
use suimon_extproc::message::{BodyMode, BodyMutation, Part, ProcessingRequest, Value};
use suimon_extproc::session::{Reading, Settings};
use suimon_llm::Usage;

use crate::support::replies::{common, kinds, streamed, value};
use crate::support::{
    self, Fixed, Talk, modes, now, request_body, request_headers, response_body, response_headers,
    response_trailers, with,
};

const BODY: &str = r#"{"model":"base","messages":[]}"#;
const ANSWER: &str = r#"{"id":"1","model":"other-name","choices":[{"text":"\"model\":\"other-name\""}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
const JSON: &str = "application/json";
const SSE: &str = "text/event-stream; charset=utf-8";
const SERVED: (&str, &str) = ("envoy.lb", "x-gateway-destination-endpoint-served");

/// A session that has answered its request.
fn answered(picker: Fixed, settings: Settings, response: BodyMode) -> Talk {
    let mut talk = Talk::with(picker, settings);
    let head = request_headers(&[], false);
    talk.say(modes(head, BodyMode::FULL_DUPLEX_STREAMED, response));
    talk.say(request_body(BODY, true));
    talk.replies.clear();
    talk
}

fn duplex(picker: Fixed) -> Talk {
    answered(picker, Settings::default(), BodyMode::FULL_DUPLEX_STREAMED)
}

fn usage(talk: &mut Talk) -> Option<Usage> {
    talk.session.close(now()).unwrap().usage
}

#[test]
fn a_response_passes_as_it_is_and_is_read() {
    let mut talk = duplex(Fixed::new(1));
    assert_eq!(talk.say(response_headers(JSON, false)), 1);
    assert_eq!(
        *common(&talk.replies[0]),
        Default::default(),
        "nothing is echoed"
    );
    for chunk in ANSWER.as_bytes().chunks(40) {
        assert_eq!(talk.say(response_body(chunk, false)), 1);
    }
    assert_eq!(talk.picker.in_flight(), [1]);
    talk.say(response_body("", true));
    assert_eq!(streamed(&talk.replies, false).0, ANSWER.as_bytes());
    assert!(talk.ended);
    assert_eq!(talk.picker.in_flight(), [0], "with the end of the response");
    let end = talk.session.close(now()).unwrap();
    assert_eq!(
        (end.status, end.outcome, end.endpoint),
        (200, "completed", "10.0.0.1:8000")
    );
    assert_eq!(end.response_bytes, ANSWER.len() as u64);
    let usage = end.usage.unwrap();
    assert_eq!((usage.prompt, usage.completion), (Some(7), Some(3)));
}

#[test]
fn the_clients_name_is_put_back_wherever_chunks_are_cut() {
    let want = ANSWER.replacen("other-name", "base", 1);
    for at in 0..=ANSWER.len() {
        let mut talk = duplex(Fixed::renaming("other-name"));
        talk.say(response_headers(JSON, false));
        assert_eq!(common(&talk.replies[0]).headers.remove, ["content-length"]);
        talk.say(response_body(&ANSWER.as_bytes()[..at], false));
        talk.say(response_body(&ANSWER.as_bytes()[at..], true));
        let (body, end, pieces) = streamed(&talk.replies, false);
        assert_eq!(String::from_utf8(body).unwrap(), want, "cut at {at}");
        assert_eq!(end, Some(pieces.len() - 1));
        assert!(usage(&mut talk).is_some());
    }
}

#[test]
fn events_get_the_name_back_as_they_come() {
    let event = "data: {\"model\":\"other-name\",\"choices\":[]}\n\n";
    let last =
        "data: {\"model\":\"other-name\",\"usage\":{\"prompt_tokens\":7}}\n\ndata: [DONE]\n\n";
    let stream = [event, event, last].concat();
    for at in 0..=stream.len() {
        let mut talk = duplex(Fixed::renaming("other-name"));
        talk.say(response_headers(SSE, false));
        let (first, second) = stream.split_at(at);
        talk.say(response_body(Bytes::from(first.to_owned()), false));
        let so_far = streamed(&talk.replies, false).0;
        let whole = first.matches("\n\n").count();
        let passed = String::from_utf8(so_far).unwrap();
        assert!(
            passed.matches("\n\n").count() >= whole,
            "held at {at}: {passed}"
        );
        talk.say(response_body(Bytes::from(second.to_owned()), false));
        talk.say(response_body("", true));
        let want = stream.replace("other-name", "base");
        assert_eq!(
            String::from_utf8(streamed(&talk.replies, false).0).unwrap(),
            want
        );
        assert_eq!(usage(&mut talk).unwrap().prompt, Some(7), "cut at {at}");
    }
}

#[test]
fn an_empty_end_is_folded_into_a_piece_that_was_not_sent() {
    let mut talk = duplex(Fixed::new(1));
    talk.say(response_headers(SSE, false));
    talk.say(response_body("data: 1\n\n", false));
    assert_eq!(talk.say(response_body("", true)), 0);
    assert_eq!(streamed(&talk.replies, false).1, Some(0));

    let mut talk = duplex(Fixed::new(1));
    talk.say(response_headers(SSE, false));
    talk.say(response_body("data: 1\n\n", false));
    talk.replies.clear();
    assert_eq!(talk.say(response_body("", true)), 1, "sent already");
    assert_eq!(streamed(&talk.replies, false), (vec![], Some(0), vec![0]));
}

#[test]
fn trailers_bring_what_was_held() {
    let mut talk = duplex(Fixed::renaming("other-name"));
    talk.say(response_headers(JSON, false));
    assert_eq!(talk.say(response_body(ANSWER, false)), 0, "held");
    talk.say(response_trailers());
    assert_eq!(
        kinds(&talk.replies),
        ["response headers", "response body", "response trailers"]
    );
    let (body, end, _) = streamed(&talk.replies, false);
    assert_eq!(body, ANSWER.replacen("other-name", "base", 1).as_bytes());
    assert_eq!(end, None, "the trailers end it");
    assert!(talk.ended);
}

#[test]
fn what_cannot_be_read_passes() {
    let rows = [("application/octet-stream", None), (JSON, Some("gzip"))];
    for (kind, coding) in rows {
        let mut talk = duplex(Fixed::renaming("other-name"));
        let mut headers = vec![(":status", "500"), ("content-type", kind)];
        headers.extend(coding.map(|coding| ("content-encoding", coding)));
        let head = support::head(&headers, false);
        talk.say(ProcessingRequest::of(Part::ResponseHeaders(head)));
        assert!(common(&talk.replies[0]).headers.is_empty());
        talk.say(response_body(ANSWER, true));
        assert_eq!(streamed(&talk.replies, false).0, ANSWER.as_bytes());
        assert_eq!(talk.session.close(now()).unwrap().status, 500);
    }
}

#[test]
fn the_endpoint_that_served_is_counted() {
    for (served, want) in [
        ("10.0.0.2:8000", [0, 1]),
        ("10.0.0.1:8000", [1, 0]),
        ("10.9.9.9:8000", [1, 0]),
        ("nonsense", [1, 0]),
    ] {
        let mut talk = duplex(Fixed::new(2));
        let value = Value::Text(served.to_owned());
        talk.say(with(response_headers(JSON, false), SERVED, value));
        assert_eq!(talk.picker.in_flight(), want, "{served}");
        drop(talk.session);
        assert_eq!(talk.picker.in_flight(), [0, 0]);
    }
}

#[test]
fn a_buffered_response_gets_its_new_length() {
    let mut talk = answered(
        Fixed::renaming("other-name"),
        Settings::default(),
        BodyMode::BUFFERED,
    );
    talk.say(response_headers(JSON, false));
    assert!(common(&talk.replies[0]).headers.is_empty());
    assert_eq!(talk.say(response_body(ANSWER, true)), 1);
    let want = ANSWER.replacen("other-name", "base", 1);
    let reply = common(&talk.replies[1]);
    assert_eq!(
        value(&reply.headers, "content-length"),
        Some(&*want.len().to_string())
    );
    assert_eq!(reply.body, Some(BodyMutation::Replace(want.into())));
}

#[test]
fn chunks_that_wait_are_answered_one_by_one() {
    let mut talk = answered(
        Fixed::renaming("other-name"),
        Settings::default(),
        BodyMode::STREAMED,
    );
    talk.say(response_headers(JSON, false));
    for (chunk, end) in [
        (&ANSWER.as_bytes()[..30], false),
        (&ANSWER.as_bytes()[30..], false),
        (b"", true),
    ] {
        assert_eq!(talk.say(response_body(chunk, end)), 1);
        assert_eq!(*common(talk.replies.last().unwrap()), Default::default());
    }
    assert_eq!(usage(&mut talk).unwrap().prompt, Some(7));
}

#[test]
fn a_response_without_a_request_passes() {
    let mut talk = Talk::new(Fixed::new(1));
    talk.say_all([response_headers(JSON, false), response_body("{}", true)]);
    assert_eq!(kinds(&talk.replies), ["response headers", "response body"]);
    assert!(talk.ended && talk.session.close(now()).is_none());
}

#[test]
fn a_response_of_the_proxys_own_ends_the_wait_for_a_decision() {
    let mut talk = Talk::new(Fixed {
        silent: true,
        ..Fixed::new(1)
    });
    talk.say_all([request_headers(&[], false), request_body(BODY, true)]);
    assert!(talk.session.is_picking());
    assert_eq!(talk.say(response_headers(JSON, true)), 1);
    assert!(!talk.session.is_picking() && talk.ended);
}

#[test]
fn a_stream_ends_early_only_if_no_response_can_be_lost() {
    let skip = || Settings {
        reading: Reading::Skip,
        ..Settings::default()
    };
    let talk = answered(Fixed::new(1), skip(), BodyMode::FULL_DUPLEX_STREAMED);
    assert!(talk.ended);
    assert_eq!(talk.picker.in_flight(), [0]);

    let mut talk = Talk::with(Fixed::new(1), skip());
    let body = format!(r#"{{"model":"base","x":"{}"}}"#, "x".repeat(62_000));
    talk.say_all([request_headers(&[], false), request_body(body, true)]);
    assert!(!talk.ended, "the body is under way for a while");
    talk.replies.clear();
    talk.say_all([response_headers(JSON, false), response_body(ANSWER, false)]);
    assert!(!talk.ended, "a body may be on its way here");
    assert_eq!(streamed(&talk.replies, false).0, ANSWER.as_bytes());
    assert_eq!(usage(&mut talk), None, "nobody asked");
}
