//! The same requests are picked alike, whoever asks: our gateway with the picker inside, Envoy with
//! `suimon epp`, and our gateway with `suimon epp`.

use std::net::SocketAddr;
use std::time::Duration;

use suimon_testkit::{
    Answer, Envoy, Epp, FakeServer, Gateway, GatewayOptions, Message, Ports, chat_body, documents,
    post,
};

use super::{BINARY, CHAT};

const SEED: [&str; 2] = ["--seed", "7"];
const CONVERSATIONS: usize = 4;
const TURNS: usize = 5;

/// Longer than a scrape takes: what was sent since the last one counts as load.
const BETWEEN: Duration = Duration::from_millis(150);

/// Which server gets each request that `ask` sends.
fn picks(servers: &[FakeServer], ask: impl Fn(&str) -> Message) -> Vec<usize> {
    let counts = || servers.iter().map(|server| server.requests().len());
    let mut before: Vec<_> = counts().collect();
    let mut picks = Vec::new();
    for turn in 1..=TURNS {
        for conversation in 0..CONVERSATIONS {
            let text = format!("conversation {conversation} ").repeat(60 * turn);
            let answer = ask(&post(CHAT, &chat_body("llama", &[&text]), ""));
            assert_eq!(answer.status(), 200, "{}", answer.text());
            let after: Vec<_> = counts().collect();
            let served = (0..servers.len()).find(|&n| after[n] > before[n]);
            picks.push(served.expect("one of the servers got it"));
            before = after;
            std::thread::sleep(BETWEEN);
        }
    }
    picks
}

fn gateway(pool: &str, more: &str) -> Gateway {
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        pool,
        more,
    ]
    .concat();
    let options = GatewayOptions {
        flags: SEED.iter().map(|&flag| flag.to_owned()).collect(),
        ..GatewayOptions::default()
    };
    Gateway::start_with(BINARY, &yaml, &options)
}

#[test]
fn whoever_asks_the_picks_are_the_same_needs_envoy() {
    let servers: Vec<_> = (0..3)
        .map(|_| FakeServer::start(|_| Answer::json("{\"usage\":{\"prompt_tokens\":7}}")))
        .collect();
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();

    let folder = tempfile::tempdir().unwrap();
    let config = suimon_testkit::epp::configuration(folder.path(), &addresses);
    let pool = documents::pool("models", &[], &documents::picker_ref("epp"));
    let inside = gateway(&pool, &documents::picker("epp", &config));
    let embedded = picks(&servers, |request| inside.ask(request));
    drop(inside);

    let epp = Epp::start(BINARY, &addresses, Ports::free(), &SEED);
    let envoy = Envoy::start(&[epp.ports], |text| text);
    let behind_envoy = picks(&servers, |request| envoy.ask(request));
    drop((envoy, epp));

    let epp = Epp::start(BINARY, &addresses, Ports::free(), &SEED);
    let spec = "endpointPickerRef: {name: epp, port: {number: 80}}";
    let pool = documents::pool("models", &addresses, spec);
    let service = documents::service("epp", &[([127, 0, 0, 1], epp.ports.grpc).into()]);
    let outside = gateway(&pool, &service);
    let behind_us = picks(&servers, |request| outside.ask(request));

    assert_eq!(
        behind_envoy, embedded,
        "Envoy with the picker, and the picker inside"
    );
    assert_eq!(
        behind_us, embedded,
        "our gateway with the picker, and the picker inside"
    );
    for conversation in 0..CONVERSATIONS {
        let turns = embedded.iter().skip(conversation).step_by(CONVERSATIONS);
        let mut turns: Vec<_> = turns.collect();
        turns.dedup();
        assert_eq!(
            turns.len(),
            1,
            "a conversation stays where its prefix is: {embedded:?}"
        );
    }
}
