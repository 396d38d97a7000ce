//! Requests of negative priority are shed when the pool is saturated.

use suimon_sim::FakeLoad;
use suimon_testkit::{Gateway, Message, Sims, assert_eventually, chat_body, documents, post};

const OBJECTIVES: &str = "
---
apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceObjective
metadata: {name: batch}
spec: {priority: -1, poolRef: {name: models}}
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceObjective
metadata: {name: critical}
spec: {priority: 10, poolRef: {name: models}}
";

fn ask(gateway: &Gateway, lines: &str) -> Message {
    gateway.ask(post(
        "/v1/chat/completions",
        &chat_body("llama", &["hello"]),
        lines,
    ))
}

#[test]
fn negative_priority_is_shed_when_saturated_and_nothing_else_is() {
    let sims = Sims::start(2);
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
        OBJECTIVES,
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    let names = [
        "x-llm-d-inference-objective",
        "X-Gateway-Inference-Objective",
    ];
    for name in names {
        assert_eq!(
            ask(&gateway, &format!("{name}: batch\r\n")).status(),
            200,
            "{name}"
        );
    }
    let full = FakeLoad {
        running: 64,
        waiting: 50,
        kv_cache_usage: 0.99,
    };
    sims.iter()
        .for_each(|replica| replica.set_fake_load(Some(full)));
    assert_eventually("saturation is seen", || {
        gateway.api("/api/pools")["pools"][0]["saturation"]
            .as_f64()
            .is_some_and(|s| s >= 1.0)
    });
    let before: usize = sims.received().iter().sum();
    for name in names {
        let shed = ask(
            &gateway,
            &format!("{name}: batch\r\nx-request-id: shed-1\r\n"),
        );
        assert_eq!(shed.status(), 429, "{name}");
        assert_eq!(
            shed.need("x-llm-d-request-dropped-reason"),
            "rejected-saturated"
        );
        assert_eq!(shed.need("x-request-id"), "shed-1");
        assert_eq!(shed.need("content-type"), "application/json");
        assert_eq!(shed.need("retry-after"), "1");
        let error = &shed.json()["error"];
        assert_eq!(error["type"], "rate_limit_error");
        assert_eq!(error["code"], "saturated");
        assert_eq!(error["request_id"], "shed-1");
        assert!(
            error["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{error}"
        );
    }
    assert_eq!(sims.received().iter().sum::<usize>(), before);
    let pass = [
        "",
        "x-llm-d-inference-objective: critical\r\n",
        "x-gateway-inference-objective: unknown\r\n",
    ];
    for lines in pass {
        assert_eq!(ask(&gateway, lines).status(), 200, "{lines}");
    }
    // The newer name counts where both are given.
    let both = "x-gateway-inference-objective: batch\r\nx-llm-d-inference-objective: critical\r\n";
    let answer = ask(&gateway, both);
    assert_eq!(answer.status(), 200);
    assert_eq!(
        gateway.decision(&answer.need("x-request-id"))["priority"],
        10
    );

    sims.iter().for_each(|replica| replica.set_fake_load(None));
    assert_eventually("batch passes again", || {
        ask(&gateway, "x-llm-d-inference-objective: batch\r\n").status() == 200
    });
}
