//! Clients that send nothing, or slowly, are let go.

mod support;

use std::time::Duration;

use suimon_routing::table::Backend;
use support::{Fake, Fixed, Gateway, get, post};

const LIMIT: Duration = Duration::from_millis(150);

fn strict() -> Gateway {
    let fake = Fake::text("{}");
    let picker = Fixed {
        endpoints: vec![support::endpoint(fake.address)],
        ..Fixed::default()
    };
    let mut snapshot = support::snapshot(
        vec![support::rule(Backend::Pool(0))],
        vec![support::pool(picker)],
    );
    snapshot.limits.first_byte = LIMIT;
    snapshot.limits.head_read = LIMIT;
    snapshot.limits.body_read = LIMIT;
    snapshot.limits.http2_idle = LIMIT;
    Gateway::start(snapshot)
}

#[test]
fn silent_connections_are_closed() {
    let gateway = strict();
    assert!(gateway.client().is_closed());
    let mut preface = gateway.client();
    preface.send("PRI * HTTP/2");
    assert!(preface.is_closed());
    support::eventually("all closed", || gateway.server.connections() == 0);
}

#[test]
fn slow_heads_and_idle_connections_are_closed() {
    let gateway = strict();
    let mut slow = gateway.client();
    slow.send("GET / HTT");
    assert!(slow.is_closed());
    let mut idle = gateway.client();
    assert_eq!(idle.ask(get("/", "")).status(), 200);
    assert!(idle.is_closed());
}

#[test]
fn slow_bodies_are_refused() {
    let gateway = strict();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{");
    let response = client.message().unwrap();
    assert_eq!(
        (response.status(), response.error()["code"].as_str()),
        (408, Some("request-timeout"))
    );
    assert!(client.is_closed());
}

#[test]
fn trickled_bodies_are_refused() {
    let gateway = strict();
    let mut client = gateway.client();
    client.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{");
    // Each pause is within the limit; the whole is not.
    for _ in 0..8 {
        std::thread::sleep(LIMIT / 4);
        client.try_send(" ");
    }
    assert_eq!(client.message().unwrap().status(), 408);
}

#[test]
fn quick_ones_are_served() {
    let gateway = strict();
    assert_eq!(gateway.ask(post("/", "{}")).status(), 200);
}

#[test]
fn http2_connections_without_a_request_are_closed() {
    let gateway = strict();
    let mut client = gateway.client();
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    assert!(client.is_closed());
}

#[test]
fn connections_past_the_cap_wait_for_their_turn() {
    let fake = Fake::text("{}");
    let mut snapshot = support::snapshot(vec![support::rule(support::service(&[&fake]))], vec![]);
    snapshot.limits.connections = 2;
    let gateway = Gateway::start(snapshot);
    let mut first = gateway.client();
    let mut second = gateway.client();
    assert_eq!(first.ask(get("/", "")).status(), 200);
    assert_eq!(second.ask(get("/", "")).status(), 200);
    let mut third = gateway.client();
    third.send(get("/", ""));
    third.stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(third.head().is_none(), "not yet accepted");
    assert_eq!(fake.seen().len(), 2);
    drop(first);
    third
        .stream
        .set_read_timeout(Some(support::PATIENCE))
        .unwrap();
    assert_eq!(third.message().unwrap().status(), 200);
}
