//! Requests whose framing could be read in two ways never reach an endpoint.

mod support;

use support::{Fake, Gateway};

fn refused(lines: &str, rest: &str) {
    let fake = Fake::text("{}");
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send(format!("{lines}\r\n{rest}"));
    let response = client.message().unwrap_or_default();
    assert!(response.start.contains(" 400 "), "{lines:?}: {response:?}");
    assert!(client.is_closed(), "{lines:?}");
    assert!(fake.seen().is_empty(), "{lines:?}");
}

#[test]
fn ambiguous_framing() {
    let chunked = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n";
    for lines in [
        "content-length: 13\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 13\r\n",
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: +5\r\n",
        "content-length: 5, 5\r\n",
        "content-length: 0x5\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "transfer-encoding: chunked, chunked\r\n",
        "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: \x0bchunked\r\n",
        "transfer-encoding: gzip, chunked\r\n",
        "content-length : 5\r\n",
        "x-a: 1\r\n folded: 2\r\n",
        "x-a: 1\x002\r\n",
        "x-a: 1\n",
        "x-a: 1\r2\r\n",
        "host: b\r\n",
    ] {
        refused(&format!("POST / HTTP/1.1\r\nhost: a\r\n{lines}"), chunked);
    }
    refused(
        "POST / HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n",
        chunked,
    );
    refused("GET / HTTP/1.1\r\n", "");
    refused("GET / HTTP/1.1\nhost: a\n", "");
    refused("GET / HTTP/1.1\r\nhost: a b\r\n", "");
    refused("GET / HTTP/1.1\r\nhost: a@b\r\n", "");
}

#[test]
fn bad_chunks_end_the_connection() {
    for chunks in [
        "0x5\r\nabcde\r\n0\r\n\r\n",
        "5\nabcde\n0\n\n",
        "11111111111111111\r\nabc",
        "5\r\nabcdeXX0\r\n\r\n",
    ] {
        let fake = Fake::text("{}");
        let gateway = Gateway::pool(&[&fake]);
        let mut client = gateway.client();
        client.send(format!(
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
        ));
        client.send("GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n");
        let response = client.message();
        assert!(response.is_none_or(|r| r.status() == 400), "{chunks:?}");
        assert!(client.is_closed(), "{chunks:?}");
        assert!(fake.seen().is_empty(), "{chunks:?}");
    }
}

#[test]
fn pipelined_requests_are_each_one_request() {
    let fake = Fake::text("{}");
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send("POST /1 HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\na\nbGET /2 HTTP/1.1\r\nhost: a\r\n\r\nGET /3 HTTP/1.1\nhost: a\r\n\r\n");
    assert_eq!(client.message().unwrap().status(), 200);
    assert_eq!(client.message().unwrap().status(), 200);
    assert_eq!(client.message().unwrap().status(), 400);
    assert!(client.is_closed());
    let starts: Vec<_> = fake.seen().into_iter().map(|m| m.start).collect();
    assert_eq!(starts, ["POST /1 HTTP/1.1", "GET /2 HTTP/1.1"]);
}

#[test]
fn an_upgrade_does_not_open_the_raw_connection() {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    client.send("GET /1 HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nGET /2 HTTP/1.1\r\nhost: a\r\n\r\n");
    assert_eq!(client.message().unwrap().status(), 200);
    assert_eq!(client.message().unwrap().status(), 200);
    assert_eq!(fake.seen().len(), 2);
    assert!(fake.seen().iter().all(|m| m.header("upgrade").is_none()));
}

#[test]
fn ambiguous_answers_of_endpoints_are_not_passed_on() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nabc"
            .to_vec()
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = gateway.client();
    for _ in 0..2 {
        let response = client.ask(support::get("/", ""));
        assert_eq!(response.status(), 502);
        assert_eq!(response.error()["code"], "endpoint-invalid");
    }
    assert_eq!(fake.connections(), 2, "such a connection is not used again");
}
