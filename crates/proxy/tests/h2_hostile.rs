//! HTTP/2 requests that would be ambiguous in HTTP/1.1 never reach an endpoint.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use support::{Fake, Gateway, Wire};

/// One frame.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Header fields as HPACK literals without indexing.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.bytes());
        }
    }
    block
}

const HEADERS: u8 = 1;
const DATA: u8 = 0;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn open(gateway: &Gateway) -> Wire {
    let mut client = gateway.client();
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send(frame(4, 0, 0, b""));
    client
}

/// The first frame of stream 1, or GOAWAY: kind and payload; `None` at the end.
fn first(client: &mut Wire) -> Option<(u8, Vec<u8>)> {
    loop {
        let head = client.exactly(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let payload = client.exactly(length)?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        if stream == 1 || head[3] == GOAWAY {
            return Some((head[3], payload));
        }
    }
}

const GOOD: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":authority", "a"),
    (":path", "/"),
];

fn refused(more: &[(&str, &str)], body: &[u8]) {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    let mut client = open(&gateway);
    let block = fields(&[&GOOD[..], more].concat());
    client.send(frame(HEADERS, END_HEADERS, 1, &block));
    client.try_send(frame(DATA, END_STREAM, 1, body));
    let answer = first(&mut client);
    let ended = match &answer {
        None => true,
        Some((RST_STREAM | GOAWAY, _)) => true,
        // A status of the static table: 400 is index 12.
        Some((HEADERS, block)) => block.first() == Some(&0x8c),
        Some(_) => false,
    };
    assert!(ended, "{more:?}: {answer:?}");
    assert!(fake.seen().is_empty(), "{more:?}");
}

#[test]
fn ambiguous_requests_end_their_stream() {
    refused(&[("content-length", "5")], b"{}");
    refused(&[("content-length", "1")], b"{}");
    refused(&[("transfer-encoding", "chunked")], b"{}");
    refused(&[("connection", "x-a")], b"{}");
    refused(&[("x-a", "1\r\nx-b: 2")], b"{}");
    refused(&[("x-a\r\nx-b", "1")], b"{}");
    refused(&[("X-A", "1")], b"{}");
    refused(&[("host", "b")], b"{}");
    refused(&[(":path", "/b")], b"{}");
}

#[test]
fn good_requests_pass() {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    let mut client = open(&gateway);
    let block = fields(&[&GOOD[..], &[("content-length", "2")]].concat());
    client.send(frame(HEADERS, END_HEADERS, 1, &block));
    client.send(frame(DATA, END_STREAM, 1, b"{}"));
    // 200 is index 8.
    assert!(matches!(first(&mut client), Some((HEADERS, block)) if block[0] == 0x88));
    assert_eq!(fake.last().text(), "{}");
}

#[test]
fn rapid_resets_end_the_connection() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        wire.is_closed();
    });
    let gateway = Gateway::pool(&[&fake]);
    let mut client = open(&gateway);
    let block = fields(&GOOD);
    for n in 0..20_000 {
        let stream = 2 * n + 1;
        let mut attack = frame(HEADERS, END_HEADERS | END_STREAM, stream, &block);
        attack.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
        if !client.try_send(attack) {
            break;
        }
    }
    assert!(client.is_closed());
    support::eventually("accounts are closed", || gateway.server.connections() == 0);
    let calm = Fake::text("{}");
    assert_eq!(
        Gateway::pool(&[&calm])
            .ask(support::post("/", "{}"))
            .status(),
        200
    );
}
