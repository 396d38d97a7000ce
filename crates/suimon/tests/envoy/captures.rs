//! What vLLM says and is told goes through Envoy byte for byte.

use suimon_testkit::fixtures::{self, Case};
use suimon_testkit::{Answer, Envoy, FakeServer, get, post};

use super::start;

/// Headers of hops, and those that Envoy makes or removes itself: it knows no length of a body that
/// its external processor may change.
const OF_HOPS: [&str; 5] = [
    "transfer-encoding",
    "connection",
    "date",
    "x-request-id",
    "content-length",
];

fn without(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    let kept = headers.into_iter();
    kept.filter(|(name, _)| !OF_HOPS.contains(&name.as_str()))
        .collect()
}

#[test]
fn each_captured_pair_goes_through_byte_for_byte_needs_envoy() {
    let cases = fixtures::cases();
    assert_eq!(cases.len(), 27);
    let answers = cases.clone();
    let server = FakeServer::start(move |request| {
        let named = |case: &&Case| request.header("x-case") == Some(&case.name);
        answers
            .iter()
            .find(named)
            .map_or_else(Answer::new, Case::answer)
    });
    let (epp, envoy) = start(&[server.address], &[]);
    for case in &cases {
        for pretty in [false, true] {
            let id = check(&envoy, &server, case, pretty);
            let outcome = &epp.decision(&id)["outcome"];
            assert_eq!(outcome["status"], case.status, "{}: {outcome}", case.name);
        }
    }
}

/// Gives the request's id.
fn check(envoy: &Envoy, server: &FakeServer, case: &Case, pretty: bool) -> String {
    let (name, line) = (&case.name, format!("x-case: {}\r\n", case.name));
    let body = case.body_of_request(pretty);
    let response = if body.is_empty() {
        envoy.ask(get(&case.path, &line))
    } else {
        envoy.ask(post(&case.path, &body, &line))
    };
    assert_eq!(
        response.status(),
        case.status,
        "{name}: {}",
        response.text()
    );
    assert_eq!(response.text(), case.body, "{name}");
    let want = case.headers.iter();
    let want =
        want.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
    assert_eq!(
        without(response.headers.clone()),
        without(want.collect()),
        "{name}"
    );
    let received = server.last();
    assert_eq!(received.text(), body, "{name}: {received:?}");
    assert_eq!(received.path(), case.path, "{name}");
    response.need("x-request-id")
}
