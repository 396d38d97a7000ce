//! Content encodings of requests and responses.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use suimon_routing::table::Backend;
use support::{Fake, Fixed, Gateway};

fn pool(fake: &Fake, target: Option<&'static str>) -> Gateway {
    let endpoints = vec![support::endpoint(fake.address)];
    let picker = Fixed {
        endpoints,
        target,
        ..Fixed::default()
    };
    let mut snapshot = support::snapshot(
        vec![support::rule(Backend::Pool(0))],
        vec![support::pool(picker)],
    );
    snapshot.limits.body_bytes = 1 << 20;
    Gateway::start(snapshot)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn encoded(coding: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[test]
fn encoded_requests_are_sent_on_decoded() {
    let fake = Fake::text("{}");
    let gateway = pool(&fake, None);
    let text = br#"{"model":"m","prompt":"hello"}"#;
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(text).unwrap();
    for (coding, body) in [
        ("gzip", gzip(text)),
        ("deflate", zlib.finish().unwrap()),
        ("identity", text.to_vec()),
    ] {
        assert_eq!(
            gateway.ask(encoded(coding, &body)).status(),
            200,
            "{coding}"
        );
        let request = fake.last();
        assert_eq!(request.body, text);
        assert_eq!(request.all("content-length"), [text.len().to_string()]);
        assert_eq!(request.header("content-encoding"), None, "{coding}");
    }
}

#[test]
fn unknown_codings_and_bombs_are_refused() {
    let fake = Fake::text("{}");
    let gateway = pool(&fake, None);
    for coding in ["br", "zstd", "foo"] {
        let response = gateway.ask(encoded(coding, b"xx"));
        assert_eq!(
            (response.status(), response.error()["code"].as_str()),
            (415, Some("unsupported-encoding"))
        );
        assert!(
            response.error()["message"]
                .as_str()
                .unwrap()
                .contains("gzip")
        );
    }
    let bomb = gzip(&vec![0; 10 << 20]);
    assert!(bomb.len() < 20_000);
    assert_eq!(gateway.ask(encoded("gzip", &bomb)).status(), 413);
    assert_eq!(gateway.ask(encoded("gzip", b"{}")).status(), 400);
    assert!(fake.seen().is_empty());
}

#[test]
fn services_get_the_original_bytes() {
    let fake = Fake::text("{}");
    let gateway = Gateway::service(&[&fake]);
    let body = gzip(b"{}");
    assert_eq!(gateway.ask(encoded("gzip", &body)).status(), 200);
    assert_eq!(fake.last().body, body);
    assert_eq!(fake.last().all("content-encoding"), ["gzip"]);
}

#[test]
fn encoded_answers_pass_untouched() {
    for status in ["200 OK", "400 Bad Request", "500 Internal Server Error"] {
        let body = gzip(br#"{"model":"target"}"#);
        let sent = body.clone();
        let fake = Fake::new(move |_| {
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\nvary: accept-encoding\r\ncontent-length: {}\r\n\r\n",
                sent.len()
            );
            [head.as_bytes(), &sent].concat()
        });
        for target in [None, Some("target")] {
            let gateway = pool(&fake, target);
            let response = gateway.ask(support::post("/v1/completions", r#"{"model":"m"}"#));
            assert_eq!(response.body, body);
            assert_eq!(response.all("content-encoding"), ["gzip"]);
            assert_eq!(response.all("content-length"), [body.len().to_string()]);
            assert_eq!(response.all("vary"), ["accept-encoding"]);
        }
    }
}
