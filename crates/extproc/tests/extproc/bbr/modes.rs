//! Each way in which a proxy sends bodies, and when the stream ends.

use suimon_extproc::bbr::Found;
use suimon_extproc::message::{BodyMode, Reply};
use suimon_extproc::session::Next;

use super::{BASE, MODEL, Talk};
use crate::support::replies::{common, kinds, streamed, value};
use crate::support::{
    modes, request_body, request_headers, request_trailers, response_body, response_headers,
    response_trailers,
};

const FULL: BodyMode = BodyMode::FULL_DUPLEX_STREAMED;

#[test]
fn a_buffered_body_is_answered_with_the_model() {
    for mode in [BodyMode::BUFFERED, BodyMode::BUFFERED_PARTIAL] {
        let mut talk = Talk::new();
        let head = request_headers(&[("x-gateway-model-name", "spoofed")], false);
        assert_eq!(talk.say(modes(head, mode, BodyMode::NONE)), 1);
        let first = common(&talk.replies[0]);
        assert_eq!(first.headers.remove, [MODEL]);
        assert!(
            first.clear_route_cache,
            "a route may have been chosen by it"
        );
        talk.say(request_body(r#"{"model":"sql"}"#, true));
        assert_eq!(kinds(&talk.replies), ["request headers", "request body"]);
        let answer = common(&talk.replies[1]);
        assert_eq!(value(&answer.headers, MODEL), Some("sql"));
        assert_eq!(value(&answer.headers, BASE), Some("llama"));
        assert!(answer.clear_route_cache && answer.body.is_none());
        assert!(talk.ended_well());
    }
}

#[test]
fn a_head_without_anything_to_change_is_answered_with_nothing() {
    let mut talk = Talk::new();
    talk.say(modes(request_headers(&[], false), BodyMode::BUFFERED, FULL));
    let Some(Reply::RequestHeaders(answer)) = &talk.replies[0].reply else {
        panic!("{:?}", talk.replies)
    };
    assert_eq!(answer, &Default::default());
}

#[test]
fn trailers_after_a_buffered_body_are_answered() {
    let mut talk = Talk::new();
    let head = modes(request_headers(&[], false), BodyMode::BUFFERED, FULL);
    talk.say_all([head, request_body(r#"{"model":"sql"}"#, false)]);
    assert!(talk.end.is_none(), "the trailers come");
    talk.say(request_trailers());
    let want = ["request headers", "request body", "request trailers"];
    assert_eq!(kinds(&talk.replies), want);
    let mut bodiless = Talk::strict();
    let head = modes(request_headers(&[], false), BodyMode::BUFFERED, FULL);
    bodiless.say_all([head, request_trailers()]);
    assert_eq!(
        kinds(&bodiless.replies),
        ["request headers", "request trailers"]
    );
}

#[test]
fn a_body_that_is_not_shown_in_time_goes_on() {
    let mut talk = Talk::new();
    let head = modes(
        request_headers(&[], false),
        BodyMode::STREAMED,
        BodyMode::NONE,
    );
    assert_eq!(talk.say(head), 1);
    assert_eq!(talk.say(request_body("{", false)), 1, "each chunk waits");
    assert_eq!(talk.say(request_body("}", true)), 1);
    assert!(common(&talk.replies[2]).body.is_none());
    assert_eq!(talk.found(), Some(Found::Unseen));
    let mut talk = Talk::new();
    talk.say(modes(request_headers(&[], false), BodyMode::NONE, FULL));
    assert_eq!(kinds(&talk.replies), ["request headers"]);
    assert!(talk.ended_well());
    for mode in [BodyMode::STREAMED, BodyMode::NONE] {
        let mut strict = Talk::strict();
        strict.say(modes(request_headers(&[], false), mode, FULL));
        assert!(matches!(strict.end, Some(Next::Unsupported(_))), "{mode:?}");
        assert!(strict.replies.is_empty());
    }
}

#[test]
fn a_mode_of_later_versions_is_refused() {
    let mut talk = Talk::new();
    talk.say(modes(request_headers(&[], false), BodyMode(9), FULL));
    assert!(matches!(talk.end, Some(Next::Unsupported(_))));
}

#[test]
fn a_large_body_is_followed_until_the_response_has_ended() {
    let body = format!(r#"{{"model":"sql","x":"{}"}}"#, "x".repeat(150_000));
    let mut talk = Talk::new();
    talk.say_all([
        request_headers(&[], false),
        request_body(body.clone(), true),
    ]);
    let (sent, end, pieces) = streamed(&talk.replies, true);
    assert!(sent == body.as_bytes());
    assert_eq!((end, pieces.len()), (Some(2), 3));
    assert!(pieces.iter().all(|piece| *piece <= 62_000));
    assert!(
        talk.end.is_none(),
        "an early response may be on its way here"
    );
    talk.replies.clear();
    talk.say(response_headers("text/event-stream", false));
    talk.say(response_body("data: 1\n\n", false));
    assert_eq!(talk.say(response_body("data: 2\n\n", false)), 1, "at once");
    talk.say(response_trailers());
    let want = ["response headers", "response body", "response trailers"];
    assert_eq!(kinds(&talk.replies), want);
    assert_eq!(common(&talk.replies[0]), &Default::default());
    assert_eq!(streamed(&talk.replies, false).0, b"data: 1\n\ndata: 2\n\n");
    assert!(talk.ended_well());
}

#[test]
fn a_response_that_is_streamed_or_held_is_answered_with_nothing() {
    for mode in [BodyMode::STREAMED, BodyMode::BUFFERED] {
        let mut talk = Talk::new();
        let head = modes(
            request_headers(&[("content-encoding", "br")], false),
            FULL,
            mode,
        );
        talk.say_all([head, response_headers("application/json", false)]);
        talk.replies.clear();
        talk.say(response_body(r#"{"model":"sql"}"#, true));
        assert_eq!(common(&talk.replies[0]), &Default::default());
        assert!(talk.ended_well());
    }
}
