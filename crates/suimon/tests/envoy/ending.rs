//! A picker that goes, and comes back, while Envoy sends requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use suimon_sim::Delay;
use suimon_testkit::{Envoy, Epp, Ports, Sims, Wire, assert_eventually, chat_body, get, post};

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

/// The example with `failure_mode_allow` and model servers to fall back on.
fn fail_open(text: &str, sims: &Sims) -> String {
    let endpoints = sims.addresses().into_iter().map(|address| {
        let port = address.port();
        format!(
            "        - endpoint: {{address: {{socket_address: \
             {{address: 127.0.0.1, port_value: {port}}}}}}}\n"
        )
    });
    let fallback = format!(
        "  - name: fallback\n    type: STATIC\n    connect_timeout: 5s\n    load_assignment:\n\
         \x20     cluster_name: fallback\n      endpoints:\n      - lb_endpoints:\n{}",
        endpoints.collect::<String>()
    );
    let (before, rest) = text
        .split_once("                direct_response:\n")
        .unwrap();
    let (_, after) = rest.split_once("no endpoint was picked\\n\"}\n").unwrap();
    [
        before,
        "                route: {cluster: fallback}\n",
        after,
    ]
    .concat()
    .replace("failure_mode_allow: false", "failure_mode_allow: true")
        + &fallback
}

#[test]
fn without_any_picker_requests_without_a_body_go_on_needs_envoy() {
    let sims = Sims::start(2);
    let epp = Epp::start(BINARY, &sims.addresses(), Ports::free(), &[]);
    let envoy = Envoy::start(&[epp.ports], |text| fail_open(&text, &sims));
    let request = post(CHAT, &chat_body("llama", &["x"]), "");
    assert_eq!(envoy.ask(&request).status(), 200);
    drop(epp);
    for _ in 0..4 {
        assert_eq!(envoy.ask(get("/v1/models", "")).status(), 200);
        // Envoy has given the body away: this is what a second picker is for.
        assert_eq!(envoy.ask(&request).status(), 500);
    }
}

#[test]
fn a_picker_that_is_killed_is_replaced_by_another_needs_envoy() {
    let sims = Sims::start(2);
    let [first, second] =
        [(), ()].map(|()| Epp::start(BINARY, &sims.addresses(), Ports::free(), &[]));
    let envoy = Envoy::start(&[first.ports, second.ports], |text| text);
    drop(first);
    envoy.await_pickers(1);
    for number in 0..8 {
        let request = post(CHAT, &chat_body("llama", &[&format!("{number}")]), "");
        assert_eq!(envoy.ask(&request).status(), 200);
    }
}
