//! A request reaches the chosen endpoint and its answer comes back.

mod support;

use support::{Fake, Gateway, get, post};

#[test]
fn request_and_response_pass_whole() {
    let fake = Fake::text(r#"{"id":"x"}"#);
    let gateway = Gateway::pool(&[&fake]);
    let body = r#"{"model":"m",  "messages":[]}"#;
    let response = gateway.ask(post("/v1/chat/completions?a=b", body));
    assert_eq!(
        (response.status(), response.text().as_str()),
        (200, r#"{"id":"x"}"#)
    );
    assert_eq!(response.all("content-length"), ["10"]);
    assert!(
        response
            .header("x-request-id")
            .is_some_and(|id| id.len() == 32)
    );
    let request = fake.last();
    assert_eq!(request.start, "POST /v1/chat/completions?a=b HTTP/1.1");
    assert_eq!(request.text(), body);
    assert_eq!(request.all("host"), ["gw.test"]);
    assert_eq!(request.all("content-length"), [body.len().to_string()]);
    let endpoint = fake.address.to_string();
    assert_eq!(
        request.all("x-gateway-destination-endpoint"),
        [endpoint.as_str()]
    );
    assert_eq!(
        request.header("x-request-id"),
        response.header("x-request-id")
    );
}

#[test]
fn services_get_no_destination_header() {
    let fake = Fake::text("{}");
    let gateway = Gateway::service(&[&fake]);
    assert_eq!(gateway.ask(get("/health", "")).status(), 200);
    assert_eq!(fake.last().header("x-gateway-destination-endpoint"), None);
}

#[test]
fn large_bodies_pass_both_ways() {
    let fake = Fake::new(|request| support::ok(&request.text()));
    let gateway = Gateway::pool(&[&fake]);
    let body = format!(r#"{{"model":"m","prompt":"{}"}}"#, "x".repeat(3 << 20));
    assert_eq!(gateway.ask(post("/v1/completions", &body)).text(), body);
    let gateway = Gateway::service(&[&fake]);
    assert_eq!(gateway.ask(post("/upload", &body)).text(), body);
}

#[test]
fn a_clients_request_id_is_kept() {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(get("/", "x-request-id: mine-1\r\n"));
    assert_eq!(response.all("x-request-id"), ["mine-1"]);
    assert_eq!(fake.last().all("x-request-id"), ["mine-1"]);
}

#[test]
fn one_line_of_account_for_each_request() {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    for _ in 0..3 {
        client.ask(post("/v1/completions", r#"{"model":"m"}"#));
    }
    support::eventually("three ends", || gateway.ends().len() == 3);
    for end in gateway.ends() {
        assert_eq!(
            (end.status, end.outcome, end.response_bytes),
            (200, "completed", 2)
        );
    }
    assert_eq!(fake.connections(), 1, "kept alive");
}

#[test]
fn http10_clients_are_served_and_closed() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n".to_vec()
    });
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send("GET /old HTTP/1.0\r\n\r\n");
    let head = client.head().unwrap();
    assert!(head.start.starts_with("HTTP/1.0 200"), "{head:?}");
    assert_eq!(head.header("transfer-encoding"), None);
    assert_eq!(client.exactly(2).unwrap(), b"ok");
    assert!(client.is_closed());
    assert_eq!(fake.last().start, "GET /old HTTP/1.1");
    assert_eq!(fake.last().all("host"), [""]);
}
