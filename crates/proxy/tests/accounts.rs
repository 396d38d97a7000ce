//! Whatever happens, each request is accounted for once and nothing stays counted as in flight.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::{Fake, Fixed, Gateway, Wire, post};

/// A model server that misbehaves in turn.
fn unreliable() -> Fake {
    let turn = AtomicUsize::new(0);
    Fake::raw(move |mut wire, _| {
        while wire.message().is_some() {
            let events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n";
            match turn.fetch_add(1, Ordering::SeqCst) % 8 {
                0 => return,
                1 => return wire.reset(),
                2 => {
                    wire.try_send("garbage\r\n\r\n");
                    return;
                }
                3 => {
                    wire.try_send(events);
                    return wire.reset();
                }
                4 => {
                    wire.try_send(events);
                    std::thread::sleep(Duration::from_millis(5));
                    wire.try_send("0\r\n\r\n");
                }
                5 => {
                    std::thread::sleep(Duration::from_millis(10));
                    wire.try_send(support::ok("{}"));
                }
                _ => {
                    wire.try_send(support::ok("{}"));
                }
            }
        }
    })
}

#[test]
fn every_request_ends_once() {
    const CLIENTS: usize = 8;
    const REQUESTS: usize = 60;
    let fakes = [unreliable(), unreliable()];
    let gone = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoints = vec![
        support::endpoint(gone),
        support::endpoint(fakes[0].address),
        support::endpoint(fakes[1].address),
    ];
    let gateway = Gateway::picker(Fixed {
        endpoints: endpoints.clone(),
        ..Fixed::default()
    });
    let sent = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (address, sent) = (gateway.address, sent.clone());
            std::thread::spawn(move || {
                for n in 0..REQUESTS {
                    let mut wire = Wire::connect(address);
                    wire.send(post("/v1/completions", r#"{"model":"m","prompt":"hello"}"#));
                    let manner = (client + n) % 4;
                    if manner > 0 {
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                    match manner {
                        0 => {
                            // A reset may overtake the request itself.
                            std::thread::sleep(Duration::from_millis(3));
                            wire.reset();
                        }
                        1 => {
                            wire.head();
                        }
                        _ => {
                            wire.message();
                        }
                    }
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    support::eventually("all connections have ended", || {
        gateway.server.connections() == 0
    });
    let ends = gateway.ends();
    let sure = sent.load(Ordering::SeqCst);
    assert!(
        (sure..=CLIENTS * REQUESTS).contains(&ends.len()),
        "{} of {sure}",
        ends.len()
    );
    for endpoint in &endpoints {
        assert_eq!(
            (endpoint.in_flight_requests(), endpoint.in_flight_tokens()),
            (0, 0)
        );
    }
    assert!(
        ends.iter().all(|end| end.status == 0 || end.tries == 2),
        "the first endpoint never accepts"
    );
    for outcome in [
        "completed",
        "client-gone",
        "endpoint-reset",
        "endpoint-invalid",
    ] {
        assert!(ends.iter().any(|end| end.outcome == outcome), "{outcome}");
    }
    let errors = ends.iter().filter(|end| end.outcome == "endpoint-reset");
    assert!(errors.clone().all(|end| [200, 502].contains(&end.status)));
}
