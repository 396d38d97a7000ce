//! The other ways in which bodies come.

use suimon_extproc::message::{BodyMode, BodyMutation, ProcessingRequest};

use super::BODY;
use crate::support::replies::{common, immediate, request_headers as headers_of, value};
use crate::support::{
    Fixed, Talk, modes, request_body, request_headers, request_trailers, response_body,
    response_headers,
};

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
    talk.say(request_body(&BODY.as_bytes()[..20], false));
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
