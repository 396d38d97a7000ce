//! The official `openai` client of Python works through a gateway.

#![expect(clippy::expect_used, reason = "a test fails by it, in its helpers too")]

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use suimon_sim::FakeLoad;
use suimon_testkit::{Gateway, Sims, assert_eventually, documents};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openai_client.py");

const OBJECTIVE: &str = "
---
apiVersion: llm-d.ai/v1alpha2
kind: InferenceObjective
metadata: {name: batch}
spec: {priority: -1, poolRef: {name: models}}
";

fn client(gateway: &Gateway, kind: &str) -> Value {
    let python = std::env::var("OPENAI_PYTHON").expect("OPENAI_PYTHON names a Python with openai");
    let output = Command::new(python)
        .args([
            SCRIPT,
            &format!("http://{}/v1", gateway.address),
            "llama",
            kind,
        ])
        .stdin(Stdio::null())
        .output()
        .expect("Python starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

fn start(sims: &Sims) -> Gateway {
    let rules = format!(
        "[{{matches: [{{path: {{value: /v1}}}}], backendRefs: [{}]}}]",
        documents::to_pool("models")
    );
    let yaml = [
        documents::GATEWAY,
        &documents::route("all", &rules),
        &documents::pool("models", &sims.addresses(), ""),
        OBJECTIVE,
    ];
    Gateway::start(BINARY, &yaml.concat())
}

#[test]
fn all_calls_work_needs_openai() {
    let sims = Sims::start(2);
    let said = client(&start(&sims), "all");
    assert_eq!(said["chat"][0], "llama", "{said}");
    assert!(
        said["chat"][1]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{said}"
    );
    assert!(
        said["chat"][2]
            .as_u64()
            .is_some_and(|tokens| (1..=8).contains(&tokens)),
        "{said}"
    );
    assert_eq!(said["stream"]["models"], json!(["llama"]), "{said}");
    assert!(
        said["stream"]["text"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{said}"
    );
    assert!(
        said["stream"]["completion_tokens"].as_u64() > Some(0),
        "{said}"
    );
    assert_eq!(said["completion"][0], "llama", "{said}");
    assert!(
        said["completion"][1]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{said}"
    );
    assert_eq!(said["models"], json!(["llama"]), "{said}");
    assert_eq!(said["embeddings"], json!([384, 384]), "{said}");
    // Of the model server.
    assert_eq!(said["unknown"][0], "NotFoundError", "{said}");
    assert_eq!(said["unknown"][1], 404, "{said}");
    assert!(
        said["unknown"][2]["message"]
            .as_str()
            .is_some_and(|text| text.contains("gpt-7")),
        "{said}"
    );
    // Of the gateway.
    assert_eq!(said["no_route"][0], "NotFoundError", "{said}");
    assert_eq!(said["no_route"][2]["code"], "no-route", "{said}");
    assert_eq!(
        said["no_route"][2]["request_id"], said["no_route"][3],
        "{said}"
    );
}

#[test]
fn a_shed_request_is_a_rate_limit_error_needs_openai() {
    let sims = Sims::start(1);
    let gateway = start(&sims);
    sims[0].set_fake_load(Some(FakeLoad {
        running: 64,
        waiting: 50,
        kv_cache_usage: 0.99,
    }));
    assert_eventually("saturation is seen", || {
        gateway.api("/api/pools")["pools"][0]["saturation"]
            .as_f64()
            .is_some_and(|s| s >= 1.0)
    });
    let said = client(&gateway, "shed");
    assert_eq!(said["shed"][0], "RateLimitError", "{said}");
    assert_eq!(said["shed"][1], 429, "{said}");
    assert_eq!(said["shed"][2]["code"], "saturated", "{said}");
    assert_eq!(said["shed"][2]["type"], "rate_limit_error", "{said}");
    assert_eq!(said["pass"], "llama", "{said}");
}
