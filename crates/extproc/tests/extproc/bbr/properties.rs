//! Whatever a proxy says in whatever order: nothing panics, nothing is lost, nothing is made up.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use suimon_extproc::bbr::{Found, Settings};
use suimon_extproc::message::{BodyMode, Reply};

use super::{Talk, settings};
use crate::properties::{cut, message, mode};
use crate::support::replies::streamed;
use crate::support::{
    modes, request_body, request_headers, request_trailers, response_body, response_headers,
    response_trailers,
};

proptest! {
    #[test]
    fn any_order_of_messages(
        messages in vec(message(), 0..20),
        request in mode(),
        response in mode(),
        strict in any::<bool>(),
    ) {
        let mut talk = Talk::with(Settings { body_limit: 40, strict, ..settings() });
        for (index, message) in messages.into_iter().enumerate() {
            let message = if index == 0 { modes(message, request, response) } else { message };
            let was_over = talk.end.is_some();
            let said = talk.say(message);
            prop_assert!(!(was_over && said > 0), "nothing is said after the end");
        }
        let answers = |of: fn(&Reply) -> bool| {
            talk.replies.iter().filter(|r| r.reply.as_ref().is_some_and(of)).count()
        };
        prop_assert!(answers(|r| matches!(r, Reply::RequestHeaders(_))) <= 1);
        prop_assert!(answers(|r| matches!(r, Reply::RequestTrailers(_))) <= 1);
        prop_assert!(answers(|r| matches!(r, Reply::Immediate(_))) <= 1);
    }

    #[test]
    fn a_body_comes_out_as_it_went_in(
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        filler in prop_oneof![0..300_usize, 0..200_000_usize],
        named in any::<bool>(),
        unread in any::<bool>(),
        trailers in any::<bool>(),
    ) {
        let name = if named { r#","model":"sql""# } else { "" };
        let body = format!(r#"{{"x":"{}"{name}}}"#, "é".repeat(filler / 2));
        let encoding = [("content-encoding", "br")];
        let mut talk = Talk::new();
        talk.say(request_headers(if unread { &encoding } else { &[] }, false));
        let chunks: Vec<Bytes> = cut(body.as_bytes(), &cuts);
        let last = chunks.len() - 1;
        for (index, chunk) in chunks.into_iter().enumerate() {
            talk.say(request_body(chunk, index == last && !trailers));
        }
        if trailers {
            talk.say(request_trailers());
        }
        let (sent, end, pieces) = streamed(&talk.replies, true);
        prop_assert!(sent == body.as_bytes());
        prop_assert!(pieces.iter().all(|piece| *piece <= 62_000));
        prop_assert_eq!(end.is_some(), !trailers);
        let found = match (unread, named) {
            (true, _) => Found::Nothing,
            (_, true) => Found::Model,
            (_, false) => Found::NoModel,
        };
        prop_assert_eq!(talk.found(), Some(found));
        prop_assert_eq!(talk.ended_well(), !unread && body.len() <= 62_000);
    }

    #[test]
    fn a_response_comes_out_as_it_went_in(
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        body in vec(any::<u8>(), 0..300),
        trailers in any::<bool>(),
    ) {
        let mut talk = Talk::new();
        talk.say(modes(
            request_headers(&[("content-encoding", "br")], false),
            BodyMode::FULL_DUPLEX_STREAMED,
            BodyMode::FULL_DUPLEX_STREAMED,
        ));
        talk.say(response_headers("application/json", false));
        let chunks = cut(&body, &cuts);
        let last = chunks.len() - 1;
        for (index, chunk) in chunks.into_iter().enumerate() {
            talk.say(response_body(chunk, index == last && !trailers));
        }
        if trailers {
            talk.say(response_trailers());
        }
        let (sent, end, _) = streamed(&talk.replies, false);
        prop_assert_eq!(sent, body);
        prop_assert_eq!(end.is_some(), !trailers);
        prop_assert!(talk.ended_well());
    }
}
