//! A busy replica is avoided; simultaneous requests spread.

use std::time::Duration;

use suimon_sim::{Delay, FakeLoad};
use suimon_testkit::{Gateway, Sims, assert_eventually, chat_body, documents, post};

fn gateway(sims: &Sims) -> Gateway {
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
    ];
    Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat())
}

#[test]
fn a_replica_with_waiting_requests_is_avoided() {
    let sims = Sims::start(3);
    let gateway = gateway(&sims);
    sims[1].set_fake_load(Some(FakeLoad {
        running: 64,
        waiting: 40,
        kv_cache_usage: 0.2,
    }));
    assert_eventually("the load is seen", || {
        gateway.endpoints()[1]["waiting"] == 40
    });
    for number in 0..30 {
        let answer = gateway.chat("llama", &[&format!("{number} has nothing in common")]);
        assert_ne!(answer.need("x-inference-pod"), "sim-1");
    }
    let received = sims.received();
    assert_eq!(received[1], 0, "{received:?}");
    assert!(received[0] > 0 && received[2] > 0, "{received:?}");

    sims[1].set_fake_load(None);
    sims[0].set_fake_load(Some(FakeLoad {
        running: 64,
        waiting: 40,
        kv_cache_usage: 0.2,
    }));
    sims[2].set_fake_load(Some(FakeLoad {
        running: 64,
        waiting: 40,
        kv_cache_usage: 0.2,
    }));
    assert_eventually("the load is seen", || {
        let waiting: Vec<_> = gateway
            .endpoints()
            .iter()
            .map(|e| e["waiting"].clone())
            .collect();
        waiting == [40, 0, 40]
    });
    let answer = gateway.chat("llama", &["now it is the idle one"]);
    assert_eq!(answer.need("x-inference-pod"), "sim-1");
}

#[test]
fn a_full_kv_cache_is_avoided() {
    let sims = Sims::start(2);
    let gateway = gateway(&sims);
    sims[0].set_fake_load(Some(FakeLoad {
        running: 1,
        waiting: 0,
        kv_cache_usage: 0.95,
    }));
    assert_eventually("the usage is seen", || {
        gateway.endpoints()[0]["kvUsage"]
            .as_f64()
            .is_some_and(|usage| usage > 0.9)
    });
    for number in 0..10 {
        let answer = gateway.chat("llama", &[&format!("{number} has nothing in common")]);
        assert_eq!(answer.need("x-inference-pod"), "sim-1");
    }
}

#[test]
fn simultaneous_requests_spread() {
    let sims = Sims::with(4, |_, config| {
        config.tuning.time_to_first_token = Delay::from_millis(1_500);
    });
    let gateway = gateway(&sims);
    // Sent in one go: most are decided between two scrapes, where only the ledger of requests in
    // flight tells the replicas apart.
    let mut clients: Vec<_> = (0..16).map(|_| gateway.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let body = chat_body("llama", &[&format!("{number} has nothing in common")]);
        client.send(post("/v1/chat/completions", &body, ""));
    }
    assert_eventually("all are in flight", || {
        sims.received().iter().sum::<usize>() == 16
    });
    // Two workers may decide at the same moment, and a scrape may already count a request that is
    // still counted as unseen: a replica can be one or two off its share, and no herd is.
    let received = sims.received();
    assert!(
        received.iter().all(|count| (2..=6).contains(count)),
        "{received:?}"
    );
    for client in &mut clients {
        assert_eq!(client.message().unwrap().status(), 200);
    }
    assert_eventually("nothing is in flight", || {
        gateway
            .endpoints()
            .iter()
            .all(|endpoint| endpoint["inFlightRequests"] == 0)
    });
}

#[test]
fn a_replica_without_metrics_is_not_idle() {
    let sims = Sims::start(2);
    let gateway = gateway(&sims);
    sims[0].set_metrics(false);
    assert_eventually("its figures are stale", || {
        gateway.endpoints()[0]["state"] == "stale"
    });
    for number in 0..10 {
        let answer = gateway.chat("llama", &[&format!("{number} has nothing in common")]);
        assert_eq!(answer.need("x-inference-pod"), "sim-1");
        std::thread::sleep(Duration::from_millis(1));
    }
}
