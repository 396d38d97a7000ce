//! Whatever a proxy says in whatever order: nothing panics, nothing is lost, nobody waits in vain.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use suimon_extproc::message::{BodyMode, ProcessingRequest, Reply};
use suimon_extproc::session::{Reading, Settings};

use crate::support::replies::streamed;
use crate::support::{
    Fixed, Talk, modes, request_body, request_headers, request_trailers, response_body,
    response_headers, response_trailers,
};

pub(crate) fn mode() -> impl Strategy<Value = BodyMode> {
    (0..7_u32).prop_map(BodyMode)
}

pub(crate) fn message() -> impl Strategy<Value = ProcessingRequest> {
    let kind = prop_oneof![
        Just("application/json"),
        Just("text/event-stream"),
        Just("text/plain")
    ];
    let text = prop_oneof![
        Just("{\"model\":\"base\","),
        Just("\"messages\":[]}"),
        Just(""),
        Just("data: {\"model\":\"other\"}\n\n"),
        Just("\u{0}x"),
    ];
    prop_oneof![
        2 => any::<bool>().prop_map(|end| request_headers(&[], end)),
        4 => (text.clone(), any::<bool>()).prop_map(|(text, end)| request_body(text, end)),
        1 => Just(request_trailers()),
        2 => (kind, any::<bool>()).prop_map(|(kind, end)| response_headers(kind, end)),
        4 => (text, any::<bool>()).prop_map(|(text, end)| response_body(text, end)),
        1 => Just(response_trailers()),
        1 => Just(ProcessingRequest::default()),
    ]
}

/// `bytes` cut at `cuts`.
pub(crate) fn cut(bytes: &[u8], cuts: &[prop::sample::Index]) -> Vec<Bytes> {
    let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    at.extend([0, bytes.len()]);
    at.sort_unstable();
    let ranges = at.windows(2).map(|pair| pair[0]..pair[1]);
    ranges
        .map(|range| Bytes::copy_from_slice(&bytes[range]))
        .collect()
}

proptest! {
    #[test]
    fn any_order_of_messages(
        messages in vec(message(), 0..20),
        request in mode(),
        response in mode(),
        skip in any::<bool>(),
    ) {
        let settings = Settings {
            body_limit: 40,
            reading: if skip { Reading::Skip } else { Reading::Read },
            ..Settings::default()
        };
        let mut talk = Talk::with(Fixed::renaming("other"), settings);
        for (index, message) in messages.into_iter().enumerate() {
            let message = if index == 0 { modes(message, request, response) } else { message };
            let was_over = talk.ended;
            let said = talk.say(message);
            prop_assert!(!(was_over && said > 0), "nothing is said after the end");
        }
        let answers = |of: fn(&Reply) -> bool| {
            talk.replies.iter().filter(|r| r.reply.as_ref().is_some_and(of)).count()
        };
        prop_assert!(answers(|r| matches!(r, Reply::RequestHeaders(_))) <= 1);
        prop_assert!(answers(|r| matches!(r, Reply::Immediate(_))) <= 1);
        let in_flight: u32 = talk.picker.in_flight().iter().sum();
        prop_assert!(in_flight <= 1);
        drop(talk.session);
        prop_assert_eq!(talk.picker.in_flight(), [0, 0]);
    }

    #[test]
    fn a_request_that_ends_is_answered_with_its_bytes(
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        filler in 0..200_000_usize,
        rename in any::<bool>(),
        trailers in any::<bool>(),
    ) {
        let body = format!(r#"{{"x":"{}","model":"base"}}"#, "é".repeat(filler / 2));
        let picker = if rename { Fixed::renaming("another") } else { Fixed::new(1) };
        let mut talk = Talk::new(picker);
        talk.say(request_headers(&[], false));
        let chunks = cut(body.as_bytes(), &cuts);
        let last = chunks.len() - 1;
        for (index, chunk) in chunks.into_iter().enumerate() {
            prop_assert!(talk.replies.is_empty());
            talk.say(request_body(chunk, index == last && !trailers));
        }
        if trailers {
            talk.say(request_trailers());
        }
        let want = if rename { body.replace("\"base\"", "\"another\"") } else { body };
        let (sent, end, pieces) = streamed(&talk.replies, true);
        prop_assert!(sent == want.as_bytes());
        prop_assert!(pieces.iter().all(|piece| *piece <= 62_000));
        prop_assert_eq!(end.is_some(), !trailers);
    }

    #[test]
    fn a_response_comes_out_as_it_went_in(
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        body in prop_oneof![
            vec(any::<u8>(), 0..300),
            Just(br#"{"model":"other","choices":[]}"#.to_vec()),
            Just(b"data: {\"model\":\"other\"}\n\ndata: [DONE]\n\n".to_vec()),
        ],
        sse in any::<bool>(),
        trailers in any::<bool>(),
    ) {
        let mut talk = Talk::new(Fixed::new(1));
        talk.say_all([request_headers(&[], false), request_body(r#"{"model":"base"}"#, true)]);
        talk.replies.clear();
        talk.say(response_headers(if sse { "text/event-stream" } else { "application/json" }, false));
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
        prop_assert!(talk.ended);
        prop_assert_eq!(talk.picker.in_flight(), [0]);
    }
}
