//! New snapshots and the end: no request is lost.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use suimon_proxy::PublishError;
use support::{Fake, Gateway, get};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn requests_go_on_while_snapshots_change() {
    let fakes = [Fake::text("a"), Fake::text("b")];
    let gateway = Gateway::service(&[&fakes[0]]);
    let stop = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (address, stop, answered) = (gateway.address, stop.clone(), answered.clone());
            std::thread::spawn(move || {
                let mut client = support::Wire::connect(address);
                while !stop.load(Ordering::SeqCst) {
                    let response = client.ask(get("/", ""));
                    assert_eq!(response.status(), 200);
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for turn in 0..100 {
        let backend = support::service(&[&fakes[turn % 2]]);
        let published = gateway
            .server
            .publish(support::snapshot(vec![support::rule(backend)], vec![]));
        assert_eq!(
            published.listening[0].1, gateway.address,
            "the socket stays"
        );
        std::thread::sleep(Duration::from_millis(3));
    }
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().unwrap();
    }
    assert!(answered.load(Ordering::SeqCst) > 100);
    assert!(fakes.iter().all(|fake| !fake.seen().is_empty()));
}

#[test]
fn a_removed_socket_closes_and_its_requests_end() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        std::thread::sleep(Duration::from_millis(200));
        wire.send(support::ok("late"));
    });
    let gateway = Gateway::service(&[&fake]);
    let mut idle = gateway.client();
    let mut busy = gateway.client();
    busy.send(get("/", ""));
    support::eventually("arrived", || fake.connections() == 1);
    let mut empty = support::snapshot(vec![], vec![]);
    empty.table.binds.clear();
    assert!(gateway.server.publish(empty).listening.is_empty());
    assert_eq!(busy.message().unwrap().text(), "late");
    assert!(busy.is_closed());
    idle.try_send(get("/", ""));
    assert!(idle.message().is_none_or(|m| m.status() == 404));
    support::eventually("refused", || {
        std::net::TcpStream::connect(gateway.address).is_err()
    });
}

#[test]
fn a_socket_that_cannot_be_bound_does_not_stop_the_others() {
    let fake = Fake::text("{}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut snapshot = support::snapshot(vec![support::rule(support::service(&[&fake]))], vec![]);
    let mut other = support::snapshot(vec![], vec![]).table.binds.remove(0);
    other.address = taken.local_addr().unwrap();
    snapshot.table.binds.insert(0, other);
    let server = suimon_proxy::Server::start(
        &suimon_proxy::Options::default(),
        Arc::new(support::Log::default()),
    )
    .unwrap();
    let published = server.publish(snapshot);
    assert_eq!(published.listening.len(), 1);
    assert!(matches!(
        &published.problems[..],
        [PublishError::Bind { address, .. }] if *address == taken.local_addr().unwrap()
    ));
    let mut client = support::Wire::connect(published.listening[0].1);
    assert_eq!(client.ask(get("/", "")).status(), 200);
}

#[test]
fn drain_lets_streams_end() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        wire.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        for _ in 0..10 {
            wire.send("1\r\nx\r\n");
            std::thread::sleep(Duration::from_millis(30));
        }
        wire.send("0\r\n\r\n");
    });
    let gateway = Gateway::service(&[&fake]);
    let address = gateway.address;
    let mut client = gateway.client();
    client.send(get("/", ""));
    let idle = gateway.client();
    client.head().unwrap();
    let reader = std::thread::spawn(move || {
        let mut count = 0;
        while client.chunk().unwrap() == b"x" {
            count += 1;
        }
        count
    });
    let cut = runtime().block_on(gateway.server.drain(support::PATIENCE));
    assert_eq!((cut, reader.join().unwrap()), (0, 10));
    assert!(std::net::TcpStream::connect(address).is_err());
    drop(idle);
}

#[test]
fn drain_ends_at_its_limit() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        wire.is_closed();
    });
    let gateway = Gateway::service(&[&fake]);
    let mut client = gateway.client();
    client.send(get("/", ""));
    support::eventually("arrived", || fake.connections() == 1);
    let started = Instant::now();
    let cut = runtime().block_on(gateway.server.drain(Duration::from_millis(100)));
    assert_eq!(cut, 1);
    assert!(started.elapsed() < Duration::from_secs(2));
    assert!(client.is_closed());
}
