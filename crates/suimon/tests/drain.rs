//! SIGTERM: open streams end as they would have, new connections are refused.

use std::net::TcpStream;

use suimon_sim::Delay;
use suimon_testkit::{
    Answer, FakeServer, Gateway, GatewayOptions, Sims, assert_eventually, documents, post,
};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const TOKENS: usize = 30;

#[test]
fn open_streams_complete_and_the_process_ends_well() {
    let sims = Sims::with(2, |_, config| {
        config.tuning.inter_token_latency = Delay::from_millis(30);
    });
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
    ];
    let mut gateway = Gateway::start(BINARY, &yaml.concat());
    let body = format!(
        "{{\"model\":\"llama\",\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}}],\"stream\":true,\
         \"ignore_eos\":true,\"max_tokens\":{TOKENS}}}"
    );
    let mut idle = gateway.client();
    assert_eq!(
        idle.ask(post(
            "/v1/completions",
            "{\"model\":\"llama\",\"prompt\":\"x\"}",
            ""
        ))
        .status(),
        200
    );
    let mut clients: Vec<_> = (0..10).map(|_| gateway.client()).collect();
    for client in &mut clients {
        client.send(post("/v1/chat/completions", &body, ""));
        assert_eq!(client.head().unwrap().status(), 200);
    }
    gateway.terminate();
    assert_eventually("new connections are refused", || {
        TcpStream::connect(gateway.address).is_err()
    });
    assert_eq!(gateway.admin("/ready").status(), 503);
    assert_eq!(gateway.admin("/live").status(), 200);
    for client in &mut clients {
        let mut said = Vec::new();
        loop {
            let piece = client.chunk().expect("the stream is not cut");
            if piece.is_empty() {
                break;
            }
            said.extend(piece);
        }
        let said = String::from_utf8(said).unwrap();
        assert!(said.ends_with("data: [DONE]\n\n"), "{said}");
        let tokens = said
            .lines()
            .filter(|line| line.contains("\"content\":"))
            .count();
        assert!(tokens >= TOKENS, "{tokens} of {TOKENS}");
    }
    let status = gateway.await_end();
    assert_eq!(status.code(), Some(0), "{}", gateway.log());
    assert!(!gateway.log().contains("connections were cut"));
    let stats: Vec<_> = sims.iter().map(|replica| replica.stats().aborted).collect();
    assert_eq!(stats, [0, 0]);
}

#[test]
fn what_does_not_end_is_cut_after_the_drain_timeout() {
    let server = FakeServer::start(|_| Answer::new().stall());
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &[server.address], ""),
    ];
    let flags = ["--drain-timeout".to_owned(), "1".to_owned()].to_vec();
    let options = GatewayOptions {
        flags,
        ..GatewayOptions::default()
    };
    let mut gateway = Gateway::start_with(BINARY, &yaml.concat(), &options);
    let mut client = gateway.client();
    client.send(post(
        "/v1/completions",
        "{\"model\":\"m\",\"prompt\":\"x\"}",
        "",
    ));
    assert_eventually("the request is at the server", || {
        server.requests().len() == 1
    });
    gateway.terminate();
    let status = gateway.await_end();
    assert_eq!(status.code(), Some(0), "{}", gateway.log());
    assert!(
        gateway.log().contains("connections were cut"),
        "{}",
        gateway.log()
    );
    assert_eventually("the server is told", || server.closed().len() == 1);
}
