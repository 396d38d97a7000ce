//! Responses pass chunk by chunk, in order, as they come.

mod support;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use support::{Fake, Gateway, post};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[test]
fn each_event_passes_before_the_next_is_sent() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let fake = Fake::raw(move |mut wire, _| {
        wire.message();
        wire.send(HEAD);
        for n in 0..20 {
            let event = format!("data: {n}\n\n");
            wire.send(format!("{:x}\r\n{event}\r\n", event.len()));
            // The next event leaves only once the client has seen this one.
            wait.lock()
                .unwrap()
                .recv_timeout(support::PATIENCE)
                .unwrap();
        }
        wire.send("0\r\n\r\n");
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    client.send(post("/v1/completions", r#"{"model":"m","stream":true}"#));
    let head = client.head().unwrap();
    assert_eq!(head.all("content-type"), ["text/event-stream"]);
    assert_eq!(head.all("transfer-encoding"), ["chunked"]);
    for n in 0..20 {
        let started = Instant::now();
        assert_eq!(client.chunk().unwrap(), format!("data: {n}\n\n").as_bytes());
        assert!(started.elapsed() < Duration::from_millis(500));
        go.send(()).unwrap();
    }
    assert_eq!(client.chunk().unwrap(), b"");
    support::eventually("end", || gateway.ends().len() == 1);
    assert_eq!(gateway.ends()[0].outcome, "completed");
}

#[test]
fn a_json_error_to_a_streamed_request_arrives_whole() {
    let body = r#"{"error":{"message":"no"}}"#;
    let fake = Fake::new(move |_| support::json("400 Bad Request", body));
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(post("/v1/completions", r#"{"model":"m","stream":true}"#));
    assert_eq!((response.status(), response.text().as_str()), (400, body));
    assert_eq!(response.all("content-length"), [body.len().to_string()]);
}

#[test]
fn a_truncated_answer_is_not_made_whole() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        wire.send(HEAD);
        wire.send("5\r\nabcde\r\n");
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    client.send(post("/v1/completions", r#"{"model":"m"}"#));
    client.head().unwrap();
    assert_eq!(client.chunk().unwrap(), b"abcde");
    assert_eq!(client.chunk(), None, "no last chunk");
    support::eventually("end", || gateway.ends().len() == 1);
    assert_eq!(gateway.ends()[0].outcome, "endpoint-reset");
}

#[test]
fn an_early_answer_passes_while_the_body_is_still_sent() {
    let fake = Fake::raw(|mut wire, _| {
        wire.head();
        wire.send("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\nno");
        std::thread::sleep(Duration::from_millis(300));
    });
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send("POST /upload HTTP/1.1\r\nhost: a\r\ncontent-length: 10000000\r\n\r\nabc");
    let response = client.message().unwrap();
    assert_eq!((response.status(), response.text().as_str()), (429, "no"));
    client.try_send("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
    assert!(client.is_closed(), "the rest of the body is no request");
}

#[test]
fn trailers_pass() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n".to_vec()
    });
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(support::get("/", "te: trailers\r\n"));
    assert_eq!(response.text(), "ok");
    assert_eq!(response.trailers, [("x-sum".to_owned(), "1".to_owned())]);
    assert_eq!(fake.last().all("te"), ["trailers"]);
}

#[test]
fn head_has_no_body() {
    let fake = Fake::new(|_| b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n".to_vec());
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    for _ in 0..2 {
        client.send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n");
        let head = client.head().unwrap();
        assert_eq!(
            (head.status(), head.header("content-length")),
            (200, Some("7"))
        );
    }
    assert_eq!(fake.connections(), 1);
}
