//! A client that leaves cancels the endpoint's work at once.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing helper fails its test"
)]

mod support;

use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use support::{Fake, Fixed, Gateway, Wire, post};

/// The time from the client's leaving to the endpoint's noticing.
fn noticed_after(
    started: &'static [u8],
    leave: fn(Wire),
) -> (Duration, Gateway, std::sync::Arc<suimon_picker::Endpoint>) {
    let (noticed, at) = mpsc::channel();
    let (arrived, arrival) = mpsc::channel();
    let fake = Fake::raw(move |mut wire, _| {
        wire.message();
        wire.send(started);
        arrived.send(()).unwrap();
        assert!(wire.is_closed());
        noticed.send(Instant::now()).unwrap();
    });
    let endpoint = support::endpoint(fake.address);
    let gateway = Gateway::picker(Fixed {
        endpoints: vec![endpoint.clone()],
        ..Fixed::default()
    });
    let mut client = gateway.client();
    client.send(post("/v1/completions", r#"{"model":"m","stream":true}"#));
    arrival.recv_timeout(support::PATIENCE).unwrap();
    if !started.is_empty() {
        client.head().unwrap();
        client.chunk().unwrap();
    }
    assert_eq!(endpoint.in_flight_requests(), 1);
    let left = Instant::now();
    leave(client);
    let noticed = at
        .recv_timeout(support::PATIENCE)
        .expect("the endpoint was never told");
    (noticed - left, gateway, endpoint)
}

fn check(started: &'static [u8], status: u16) {
    for leave in [drop as fn(Wire), Wire::reset] {
        let (after, gateway, endpoint) = noticed_after(started, leave);
        assert!(after < Duration::from_millis(100), "{after:?}");
        support::eventually("in-flight 0", || endpoint.in_flight_requests() == 0);
        assert_eq!(endpoint.in_flight_tokens(), 0);
        support::eventually("one end", || gateway.ends().len() == 1);
        let end = &gateway.ends()[0];
        assert_eq!((end.status, end.outcome), (status, "client-gone"));
        assert_eq!(gateway.log.retries.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn before_the_answer() {
    check(b"", 0);
}

#[test]
fn in_the_middle_of_a_stream() {
    check(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n",
        200,
    );
}

#[test]
fn in_the_middle_of_an_upload() {
    let fake = Fake::raw(|mut wire, seen| {
        let head = wire.head().unwrap();
        assert!(wire.exactly(100_000).is_none(), "the upload never ends");
        seen.lock().unwrap().push(head);
    });
    for leave in [drop as fn(Wire), Wire::reset] {
        let gateway = Gateway::service(&[&fake]);
        let before = fake.seen().len();
        let mut client = gateway.client();
        client.send("POST /up HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\nabc");
        support::eventually("arrived", || fake.connections() > before);
        leave(client);
        support::eventually("the endpoint was told", || fake.seen().len() > before);
        support::eventually("one end", || gateway.ends().len() == 1);
        assert!(["client-gone", "bad-request"].contains(&gateway.ends()[0].outcome));
    }
}
