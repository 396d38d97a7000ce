//! `suimon up`: the first command of a new user.

use std::process::Command;

use suimon_testkit::{Answer, FakeServer, Gateway, Sims, documents, get};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const MODEL: &str = "meta-llama/Llama-3.1-8B-Instruct";

#[test]
fn it_says_where_things_are_and_ends_at_ctrl_c() {
    let mut gateway = Gateway::up(BINARY, &["--replicas", "2"]);
    let answer = gateway.chat(MODEL, &["Hello"]);
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.json()["model"], MODEL);
    let log = gateway.log();
    for part in [
        format!("curl http://{}/v1/chat/completions", gateway.address),
        format!("dashboard  http://{}", gateway.admin),
        format!("2 simulated vLLM replicas of {MODEL}"),
    ] {
        assert!(log.contains(&part), "`{part}` is not in:\n{log}");
    }
    assert!(!log.contains(" WARN ") && !log.contains(" ERROR "), "{log}");
    let page = gateway.admin("/");
    assert!(page.text().contains("<title>suimon</title>"));
    let kill = format!("kill -INT {}", gateway.id());
    let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(killed.success());
    assert_eq!(gateway.await_end().code(), Some(0));
}

#[test]
fn the_printed_line_gets_an_answer() {
    let gateway = Gateway::up(BINARY, &["--replicas", "1", "--model", "small"]);
    let log = gateway.log();
    let printed = log
        .split("try it:")
        .nth(1)
        .and_then(|rest| rest.split("Ctrl-C").next());
    let printed = printed.unwrap_or_else(|| panic!("no line to try in:\n{log}"));
    let output = Command::new("sh")
        .args(["-c", printed.trim()])
        .output()
        .unwrap();
    if output.status.code() == Some(127) {
        // Without curl the line cannot be tried; what it would send is in the other tests.
        return;
    }
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["model"], "small", "{said}");
}

#[test]
fn real_servers_are_used_and_their_engine_is_recognised() {
    let vllm = Sims::start(1);
    let sglang = FakeServer::start(|_| Answer::json("{\"model\":\"llama\"}"));
    sglang.set_metrics(
        "sglang:num_running_reqs{model_name=\"llama\"} 3.0\n\
         sglang:num_queue_reqs{model_name=\"llama\"} 7.0\n\
         sglang:token_usage{model_name=\"llama\"} 0.25\n",
    );
    let (first, second) = (
        format!("http://{}", vllm[0].address()),
        format!("http://{}/", sglang.address),
    );
    let gateway = Gateway::up(BINARY, &["--endpoint", &first, "--endpoint", &second]);
    let endpoints = gateway.endpoints();
    let engines: Vec<_> = endpoints
        .iter()
        .map(|endpoint| &endpoint["engine"])
        .collect();
    assert_eq!(engines, ["vllm", "sglang"]);
    let read = ["running", "waiting", "kvUsage"].map(|name| endpoints[1][name].clone());
    assert_eq!(read, [3.into(), 7.into(), serde_json::json!(0.25)]);
    // The idle one is chosen.
    assert_eq!(
        gateway.chat("llama", &["hello"]).need("x-inference-pod"),
        "sim-0"
    );
    assert!(gateway.log().contains("2 model servers"));
}

#[test]
fn a_picker_configuration_of_ones_own_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("picker.yaml");
    let config = documents::STANDARD_PICKER.replace("weight: 3", "weight: 5");
    std::fs::write(&file, config).unwrap();
    let gateway = Gateway::up(BINARY, &["--picker-config", &file.display().to_string()]);
    let pools = gateway.api("/api/pools");
    let scorer = &pools["pools"][0]["profiles"][0]["scorers"][2];
    assert_eq!(
        *scorer,
        serde_json::json!({"name": "prefix-cache-scorer", "weight": 5.0})
    );
}

#[test]
fn adapters_of_the_simulated_replicas_are_models() {
    let gateway = Gateway::up(
        BINARY,
        &["--model", "base", "--lora", "law", "--lora", "medicine"],
    );
    let models = gateway.ask(get("/v1/models", "")).json();
    let ids: Vec<_> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, ["base", "law", "medicine"]);
    assert_eq!(gateway.chat("law", &["hello"]).json()["model"], "law");
}
