//! Upgraded connections pass bytes both ways, once the endpoint has agreed.

mod support;

use support::{Fake, Gateway, get};

const WISH: &str = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: a\r\n";

#[test]
fn bytes_pass_both_ways_after_101() {
    let fake = Fake::raw(|mut wire, seen| {
        let request = wire.message().unwrap();
        seen.lock().unwrap().push(request);
        wire.send("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhello\n");
        while let Some(line) = wire.until(b"\n") {
            wire.send(line);
        }
    });
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send(get("/ws", WISH));
    let head = client.head().unwrap();
    assert_eq!(
        (head.status(), head.all("upgrade")),
        (101, vec!["websocket"])
    );
    assert_eq!(client.until(b"\n").unwrap(), b"hello\n");
    for line in ["GET / HTTP/1.1\n", "\0\x01\n"] {
        client.send(line);
        assert_eq!(client.until(b"\n").unwrap(), line.as_bytes());
    }
    let request = fake.last();
    assert_eq!(request.all("connection"), ["upgrade"]);
    assert_eq!(request.all("sec-websocket-key"), ["a"]);
    drop(client);
    support::eventually("end", || gateway.ends().len() == 1);
    assert_eq!(
        (gateway.ends()[0].status, gateway.ends()[0].outcome),
        (101, "completed")
    );
}

#[test]
fn an_endpoint_that_does_not_agree_answers_as_usual() {
    let fake = Fake::text("no");
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    for _ in 0..2 {
        let response = client.ask(get("/ws", WISH));
        assert_eq!((response.status(), response.text().as_str()), (200, "no"));
    }
}

#[test]
fn a_switch_that_nobody_asked_for_is_no_answer() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n".to_vec()
    });
    for gateway in [Gateway::service(&[&fake]), Gateway::pool(&[&fake])] {
        assert_eq!(gateway.ask(get("/", "")).status(), 502);
    }
}
