use super::*;
use crate::message::{SetHeader, StreamedBody, Struct};

const HELLO: &[u8] = b"hello world";

fn head(destination: Option<&str>) -> ProcessingResponse {
    let mut common = CommonResponse::default();
    if let Some(destination) = destination {
        let name = "x-gateway-destination-endpoint";
        common.headers.set(name, destination.to_owned());
    }
    ProcessingResponse::of(Reply::RequestHeaders(common))
}

fn body(mutation: Option<BodyMutation>) -> ProcessingResponse {
    ProcessingResponse::of(Reply::RequestBody(CommonResponse {
        body: mutation,
        ..CommonResponse::default()
    }))
}

fn chunk(bytes: &'static [u8], end_of_stream: bool) -> ProcessingResponse {
    body(Some(BodyMutation::Streamed(StreamedBody {
        body: Bytes::from_static(bytes),
        end_of_stream,
    })))
}

/// What comes of these messages, of which only the last may decide.
fn ask(said: Vec<Option<ProcessingResponse>>) -> Result<Asked, ClientError> {
    let mut asking = Asking::new(Bytes::from_static(HELLO));
    let last = said.len() - 1;
    for (index, said) in said.into_iter().enumerate() {
        match asking.on(said) {
            Ok(None) => assert!(index < last, "not decided"),
            Ok(Some(asked)) => {
                assert_eq!(index, last, "decided too early");
                return Ok(asked);
            }
            Err(error) => return Err(error),
        }
    }
    unreachable!()
}

fn chosen(said: Vec<Option<ProcessingResponse>>) -> (String, Option<Bytes>) {
    match ask(said) {
        Ok(Asked::Chosen(chosen)) => (chosen.destination, chosen.body),
        other => panic!("{other:?}"),
    }
}

fn to(address: &str, body: Option<&'static str>) -> (String, Option<Bytes>) {
    (address.to_owned(), body.map(Bytes::from))
}

#[test]
fn an_echo_is_the_body_that_was_sent() {
    let said = vec![
        Some(head(Some("1.2.3.4:5"))),
        Some(chunk(b"hello ", false)),
        Some(chunk(b"world", false)),
        Some(chunk(b"", true)),
    ];
    assert_eq!(chosen(said), to("1.2.3.4:5", None));
}

#[test]
fn another_body_replaces_it() {
    for said in [
        vec![Some(head(Some("a"))), Some(chunk(b"hello you", true))],
        vec![
            Some(head(Some("a"))),
            Some(chunk(b"hello ", false)),
            Some(chunk(b"you", true)),
        ],
        vec![
            Some(head(Some("a"))),
            Some(body(Some(BodyMutation::Replace(Bytes::from_static(
                b"hello you",
            ))))),
        ],
    ] {
        assert_eq!(chosen(said), to("a", Some("hello you")));
    }
    let shorter = vec![Some(head(Some("a"))), Some(chunk(b"hello", true))];
    assert_eq!(chosen(shorter), to("a", Some("hello")));
    let longer = vec![Some(head(Some("a"))), Some(chunk(b"hello world!", true))];
    assert_eq!(chosen(longer), to("a", Some("hello world!")));
    let none = vec![
        Some(head(Some("a"))),
        Some(body(Some(BodyMutation::Clear(true)))),
    ];
    assert_eq!(chosen(none), to("a", Some("")));
}

#[test]
fn the_pick_may_come_as_metadata_or_with_the_body() {
    let picked = Struct::of(control::DESTINATION.as_str(), Value::Text("b".into()));
    let mut message = head(None);
    message.dynamic_metadata = Some(Struct::of(NAMESPACE, Value::Struct(picked)));
    assert_eq!(chosen(vec![Some(message), Some(body(None))]), to("b", None));
    let late = CommonResponse {
        headers: HeaderMutation {
            set: vec![SetHeader {
                header: crate::message::Header::new("X-Gateway-Destination-Endpoint", "c"),
                ..SetHeader::default()
            }],
            ..HeaderMutation::default()
        },
        ..CommonResponse::default()
    };
    let late = ProcessingResponse::of(Reply::RequestBody(late));
    assert_eq!(chosen(vec![Some(head(None)), Some(late)]), to("c", None));
}

#[test]
fn an_end_after_the_pick_leaves_the_body_as_it_was() {
    assert_eq!(chosen(vec![Some(head(Some("a"))), None]), to("a", None));
    let part = vec![Some(head(Some("a"))), Some(chunk(b"hel", false)), None];
    assert_eq!(chosen(part), to("a", None));
}

#[test]
fn what_tells_no_pick_is_a_failure() {
    for said in [
        vec![None],
        vec![Some(chunk(b"hello world", true)), None],
        vec![Some(head(None)), Some(chunk(b"hello world", true))],
        vec![Some(head(None)), None],
    ] {
        assert!(matches!(ask(said), Err(ClientError::NoPick)));
    }
    for said in [
        vec![Some(head(Some("a"))), Some(head(Some("a")))],
        vec![Some(head(Some("a"))), Some(chunk(b"other", false)), None],
        vec![Some(ProcessingResponse::of(Reply::ResponseHeaders(
            CommonResponse::default(),
        )))],
    ] {
        assert!(matches!(ask(said), Err(ClientError::Protocol(_))));
    }
}

#[test]
fn an_answer_to_the_client_counts_at_any_stage() {
    let answer = ImmediateResponse {
        status: 429,
        body: Bytes::from_static(b"busy"),
        ..ImmediateResponse::default()
    };
    let answer = ProcessingResponse::of(Reply::Immediate(answer));
    for before in [vec![], vec![Some(head(Some("a")))]] {
        let said = before.into_iter().chain([Some(answer.clone())]).collect();
        let Ok(Asked::Answered(direct)) = ask(said) else {
            panic!("no answer")
        };
        assert_eq!(
            (direct.status.as_u16(), &direct.body[..]),
            (429, &b"busy"[..])
        );
    }
}

#[test]
fn a_status_that_is_none_becomes_an_error() {
    for status in [0, 100, 99_999] {
        let answer = ImmediateResponse {
            status,
            ..ImmediateResponse::default()
        };
        assert_eq!(direct(answer).status, StatusCode::INTERNAL_SERVER_ERROR);
    }
}
