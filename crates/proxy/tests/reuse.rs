//! Connections to endpoints: kept, replaced when stale, and never used to send a request twice.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Fake, Gateway, ok, post};

const BODY: &str = r#"{"model":"m"}"#;

#[test]
fn endpoints_that_close_after_each_answer_cause_no_error() {
    let turn = AtomicUsize::new(0);
    let fake = Fake::raw(move |mut wire, seen| {
        if let Some(request) = wire.message() {
            seen.lock().unwrap().push(request);
            wire.send(ok("{}"));
            let turn = turn.fetch_add(1, Ordering::SeqCst) as u64;
            std::thread::sleep(Duration::from_micros(turn * 37 % 3000));
        }
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    for _ in 0..500 {
        assert_eq!(client.ask(post("/", BODY)).status(), 200);
    }
    assert_eq!(fake.seen().len(), 500, "each request once");
}

#[test]
fn a_reset_on_a_fresh_connection_is_not_sent_again() {
    let fake = Fake::raw(|mut wire, seen| {
        if let Some(request) = wire.message() {
            seen.lock().unwrap().push(request);
            wire.reset();
        }
    });
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(post("/", BODY));
    assert_eq!(
        (response.status(), response.error()["code"].as_str()),
        (502, Some("endpoint-reset"))
    );
    assert_eq!(fake.seen().len(), 1);
}

#[test]
fn a_reset_after_work_on_a_kept_connection_is_not_sent_again() {
    let fake = Fake::raw(|mut wire, seen| {
        let mut count = 0;
        while let Some(request) = wire.message() {
            seen.lock().unwrap().push(request);
            count += 1;
            if count == 2 {
                std::thread::sleep(Duration::from_millis(700));
                return wire.reset();
            }
            wire.send(ok("{}"));
        }
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    assert_eq!(client.ask(post("/", BODY)).status(), 200);
    assert_eq!(client.ask(post("/", BODY)).status(), 502);
    assert_eq!(fake.seen().len(), 2);
}

#[test]
fn garbage_is_no_answer() {
    let fake = Fake::new(|_| b"SSH-2.0-x\r\n\r\n".to_vec());
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(post("/", BODY));
    assert_eq!(
        (response.status(), response.error()["code"].as_str()),
        (502, Some("endpoint-invalid"))
    );
}

#[test]
fn a_refused_connection_goes_to_the_next_endpoint() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let fake = Fake::text("{}");
    let endpoints = vec![support::endpoint(gone), support::endpoint(fake.address)];
    let ledger = endpoints.clone();
    let gateway = Gateway::picker(support::Fixed {
        endpoints,
        ..support::Fixed::default()
    });
    assert_eq!(gateway.ask(post("/", BODY)).status(), 200);
    assert_eq!(
        fake.last().all("x-gateway-destination-endpoint"),
        [fake.address.to_string()]
    );
    support::eventually("end", || gateway.ends().len() == 1);
    let end = &gateway.ends()[0];
    assert_eq!(
        (end.tries, end.endpoint.as_str()),
        (2, fake.address.to_string().as_str())
    );
    assert!(ledger.iter().all(|e| e.in_flight_requests() == 0));
}

#[test]
fn nobody_accepts() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let gateway = Gateway::start(support::snapshot(
        vec![support::rule(support::service_of(
            vec![gone],
            suimon_routing::table::BackendProtocol::Http1,
        ))],
        vec![],
    ));
    let response = gateway.ask(post("/", BODY));
    assert_eq!(
        (response.status(), response.error()["code"].as_str()),
        (503, Some("connect-failed"))
    );
}
