//! A client that goes takes its request with it, at once: an engine must not generate for nobody.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use std::time::{Duration, Instant};

use suimon_testkit::{Answer, FakeServer, Gateway, Wire, assert_eventually, documents, post};

/// From the client's end to the server's view of it.
const AT_ONCE: Duration = Duration::from_millis(100);

/// On a loaded machine this process may itself be late: the best of some tries counts.
const TRIES: usize = 5;

const EVENT: &str = "data: {\"model\":\"m\",\"choices\":[]}\n\n";

fn start(answer: Answer) -> (FakeServer, Gateway) {
    let server = FakeServer::start(move |_| answer.clone());
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &[server.address], ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    (server, gateway)
}

fn check(answer: Answer, streams: bool, leave: fn(Wire)) {
    let (server, gateway) = start(answer);
    let body =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true}";
    let mut best = Duration::MAX;
    for number in 0..TRIES {
        let mut client = gateway.client();
        let line = format!("x-request-id: leaves-{number}\r\n");
        client.send(post("/v1/chat/completions", body, &line));
        assert_eventually("the request is at the server", || {
            server.requests().len() == number + 1
        });
        if streams {
            assert_eq!(client.head().unwrap().status(), 200);
            assert_eq!(client.chunk().unwrap(), EVENT.as_bytes());
        }
        let in_flight = || {
            let endpoint = &gateway.endpoints()[0];
            (
                endpoint["inFlightRequests"].as_u64(),
                endpoint["inFlightTokens"].as_u64(),
            )
        };
        let (requests, tokens) = in_flight();
        assert_eq!(requests, Some(1));
        assert!(tokens > Some(0));
        let left = Instant::now();
        leave(client);
        assert_eventually("the server sees it", || server.closed().len() == number + 1);
        best = best.min(server.closed()[number] - left);
        assert_eventually("nothing is in flight", || in_flight() == (Some(0), Some(0)));
        let outcome = gateway.decision(&format!("leaves-{number}"))["outcome"].clone();
        assert_eq!(outcome["end"], "client-gone", "{outcome}");
    }
    assert!(best < AT_ONCE, "{best:?}");
    let told = |log: &str| log.matches("outcome=client-gone").count();
    gateway.await_log("outcome=client-gone", TRIES);
    assert_eq!(told(&gateway.log()), TRIES, "each is told once");
}

fn stream() -> Answer {
    Answer::event_stream().chunk(EVENT).stall()
}

#[test]
fn the_client_closes_in_a_stream() {
    check(stream(), true, drop);
}

#[test]
fn the_client_resets_in_a_stream() {
    check(stream(), true, Wire::reset);
}

#[test]
fn the_client_closes_before_the_head() {
    check(Answer::new().stall(), false, drop);
}

#[test]
fn the_client_resets_before_the_head() {
    check(Answer::new().stall(), false, Wire::reset);
}

#[test]
fn the_server_breaks_a_stream() {
    let (server, gateway) = start(
        Answer::event_stream()
            .chunk(EVENT)
            .wait(Duration::from_millis(20))
            .reset(),
    );
    let mut client = gateway.client();
    client.send(post(
        "/v1/completions",
        "{\"model\":\"m\",\"prompt\":\"x\",\"stream\":true}",
        "",
    ));
    assert_eq!(client.head().unwrap().status(), 200);
    assert_eq!(client.chunk().unwrap(), EVENT.as_bytes());
    assert_eq!(client.chunk(), None, "a cut stream must not look complete");
    assert_eventually("nothing is in flight", || {
        gateway.endpoints()[0]["inFlightRequests"] == 0
    });
    assert_eq!(
        server.requests().len(),
        1,
        "what has begun is not tried again"
    );
}
