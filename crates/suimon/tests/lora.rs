//! Requests for a LoRA adapter go where it is loaded.

use suimon_sim::{Delay, LoraModule};
use suimon_testkit::{Gateway, Sims, assert_eventually, chat_body, documents, post};

const PICKER: &str = "\
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: lora-affinity-scorer
- type: queue-scorer
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: lora-affinity-scorer, weight: 3}
  - {pluginRef: queue-scorer, weight: 1}
";

#[test]
fn an_adapter_is_asked_for_where_it_is_loaded() {
    let sims = Sims::with(3, |_, config| {
        config.lora_modules = ["law", "medicine"].map(LoraModule::named).to_vec();
        config.max_loras = 1;
        config.tuning.inter_token_latency = Delay::from_millis(100);
    });
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool(
            "models",
            &sims.addresses(),
            &documents::picker_ref("picker"),
        ),
        &documents::picker("picker", PICKER),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    // A server tells how many adapters fit only once it has run one.
    let mut wire = suimon_testkit::Wire::connect(sims[1].address());
    let body = chat_body("law", &["x"]);
    assert_eq!(
        wire.ask(post("/v1/chat/completions", &body, "")).status(),
        200
    );
    // One long request to each of two replicas, past the gateway, loads an adapter there.
    let mut holders = Vec::new();
    for (replica, adapter) in [(2, "law"), (0, "medicine")] {
        let body = format!(
            "{{\"model\":\"{adapter}\",\"messages\":[{{\"role\":\"user\",\"content\":\"x\"}}],\
             \"max_tokens\":500,\"ignore_eos\":true,\"stream\":true}}"
        );
        let mut wire = suimon_testkit::Wire::connect(sims[replica].address());
        wire.send(post("/v1/chat/completions", &body, ""));
        assert_eq!(wire.head().unwrap().status(), 200);
        holders.push(wire);
    }
    assert_eventually("the adapters are seen", || {
        let active: Vec<_> = gateway
            .endpoints()
            .iter()
            .map(|e| e["loraActive"].clone())
            .collect();
        active
            == [
                serde_json::json!(["medicine"]),
                serde_json::json!([]),
                serde_json::json!(["law"]),
            ]
    });
    assert_eq!(gateway.endpoints()[0]["loraMax"], 1);
    for number in 0..8 {
        for (adapter, pod) in [("law", "sim-2"), ("medicine", "sim-0")] {
            let body = chat_body(adapter, &[&format!("question {number}")]);
            let body = body.replace("\"max_tokens\":4", "\"max_tokens\":1");
            let answer = gateway.ask(post("/v1/chat/completions", &body, ""));
            assert_eq!(
                answer.need("x-inference-pod"),
                pod,
                "{adapter}: {}",
                answer.text()
            );
            assert_eq!(answer.json()["model"], adapter);
        }
    }
    let newest = &gateway.api("/api/decisions?limit=1")[0];
    let scorer = &newest["profiles"][0]["scorers"][0];
    assert_eq!(scorer["name"], "lora-affinity-scorer");
    // Loaded; room for one more; full of another.
    let scores = scorer["scores"].as_array().unwrap();
    for (score, want) in scores.iter().zip([1.0, 0.8, 0.0]) {
        assert!((score.as_f64().unwrap() - want).abs() < 1e-6, "{scores:?}");
    }
}
