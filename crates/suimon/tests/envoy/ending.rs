//! A picker that goes, and comes back, while Envoy sends requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use suimon_sim::Delay;
use suimon_testkit::{Envoy, Epp, Ports, Sims, Wire, assert_eventually, chat_body, post};

use super::{BINARY, CHAT, start};

const TOKENS: usize = 40;

fn stream_body() -> String {
    format!(
        "{{\"model\":\"llama\",\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}}],\"stream\":true,\
         \"ignore_eos\":true,\"max_tokens\":{TOKENS}}}"
    )
}

/// All that is left of a stream.
fn rest(client: &mut Wire) -> String {
    let mut said = Vec::new();
    loop {
        let piece = client.chunk().expect("the stream is not cut");
        if piece.is_empty() {
            return String::from_utf8(said).unwrap();
        }
        said.extend(piece);
    }
}

#[test]
fn streams_end_as_they_would_have_needs_envoy() {
    let sims = Sims::with(1, |_, config| {
        config.tuning.inter_token_latency = Delay::from_millis(30);
    });
    let (mut epp, envoy) = start(&sims.addresses(), &["--drain-timeout", "20s"]);
    let mut client = Wire::connect(envoy.address);
    client.send(post(CHAT, &stream_body(), ""));
    assert_eq!(client.head().unwrap().status(), 200);
    epp.process.terminate();
    assert_eventually("Envoy is told", || {
        envoy.stat("cluster.picker.membership_healthy") == "0"
    });
    // The only picker there is still serves.
    let response = envoy.ask(post(CHAT, &chat_body("llama", &["late"]), ""));
    assert_eq!(response.status(), 200, "{}", response.text());
    let said = rest(&mut client);
    assert!(said.ends_with("data: [DONE]\n\n"), "{said}");
    assert!(said.matches("\"content\":").count() >= TOKENS, "{said}");
    assert_eq!(epp.process.await_end().code(), Some(0));
    let log = epp.process.log();
    assert!(!log.contains("connections were cut"), "{log}");
}

/// Clients that ask one request after the other.
struct Load {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(address: SocketAddr) -> Self {
        let (stop, asked) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let client = |number: usize| {
            let (stop, asked) = (Arc::clone(&stop), Arc::clone(&asked));
            std::thread::spawn(move || {
                let mut wire = Wire::connect(address);
                while !stop.load(Ordering::Relaxed) {
                    let body = chat_body("llama", &[&format!("client {number}")]);
                    let response = wire.ask(post(CHAT, &body, ""));
                    assert_eq!(response.status(), 200, "{}", response.text());
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let clients = (0..4).map(client).collect();
        Self {
            stop,
            asked,
            clients,
        }
    }

    /// Waits for further requests.
    fn go_on(&self) {
        let before = self.asked.load(Ordering::Relaxed);
        assert_eventually("requests go on", || {
            self.asked.load(Ordering::Relaxed) > before + 50
        });
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("no request is lost");
        }
    }
}

#[test]
fn no_request_is_lost_when_pickers_are_restarted_in_turn_needs_envoy() {
    let sims = Sims::start(2);
    let flags = ["--drain-timeout", "3s"];
    let begin = |ports| Epp::start(BINARY, &sims.addresses(), ports, &flags);
    let mut pickers = [begin(Ports::free()), begin(Ports::free())];
    let envoy = Envoy::start(&[pickers[0].ports, pickers[1].ports], |text| text);
    let load = Load::start(envoy.address);
    for picker in &mut pickers {
        load.go_on();
        picker.process.terminate();
        assert_eq!(picker.process.await_end().code(), Some(0));
        load.go_on();
        *picker = begin(picker.ports);
        envoy.await_pickers(2);
    }
    load.go_on();
    load.end();
}
