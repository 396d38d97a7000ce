//! A pool that nobody used for a while is idle, not saturated.

use std::time::Duration;

use suimon_testkit::{Gateway, Sims, assert_eventually, chat_body, documents, post};

const OBJECTIVE: &str = "
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceObjective
metadata: {name: batch}
spec: {priority: -1, poolRef: {name: models}}
";

#[test]
fn the_first_request_after_a_quiet_time_is_not_shed() {
    let sims = Sims::start(2);
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
        OBJECTIVE,
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    assert_eq!(gateway.chat("llama", &["hello"]).status(), 200);
    // The scrape rate has been lowered once figures are older than they get under load.
    assert_eventually("the scrape rate is lowered", || {
        std::thread::sleep(Duration::from_millis(50));
        gateway
            .endpoints()
            .iter()
            .all(|endpoint| endpoint["ageMs"].as_f64() > Some(400.0))
    });
    let pool = gateway.api("/api/pools")["pools"][0].clone();
    let batch = "x-llm-d-inference-objective: batch\r\n";
    let body = chat_body("llama", &["hello"]);
    let answer = gateway.ask(post("/v1/chat/completions", &body, batch));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(pool["saturation"], 0.0, "{pool}");
}
