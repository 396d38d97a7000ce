//! What vLLM says and is told goes through byte for byte, and is read right on its way.

use suimon_testkit::fixtures::{self, Case};
use suimon_testkit::{Answer, FakeServer, Gateway, assert_eventually, documents, get, post};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

/// Headers of the hop to the gateway, and those that it makes itself.
const OWN_HEADERS: [&str; 4] = ["transfer-encoding", "connection", "date", "x-request-id"];

/// Prompt, completion and cached tokens that each capture shows.
const USAGE: [(&str, u64, u64, Option<u64>); 16] = [
    ("chat-plain", 345, 8, None),
    ("chat-repeat-prefix", 345, 8, None),
    ("chat-lora", 371, 8, None),
    ("chat-stream-usage", 342, 8, None),
    ("chat-n2-logprobs", 341, 6, None),
    ("chat-content-parts", 17, 4, None),
    ("chat-cache-salt", 345, 4, None),
    ("completion-string", 211, 6, None),
    ("completion-array", 8, 8, None),
    ("completion-token-ids", 64, 4, None),
    ("completion-stream", 5, 4, None),
    ("responses", 18, 8, Some(0)),
    ("responses-stream", 22, 8, Some(0)),
    ("messages", 24, 8, None),
    ("messages-stream", 14, 8, None),
    ("generate", 64, 4, None),
];

fn documents(server: &FakeServer) -> String {
    let (route, pool) = (
        documents::route_to_pool("models"),
        documents::pool("models", &[server.address], ""),
    );
    [documents::GATEWAY, &route, &pool].concat()
}

fn without(headers: Vec<(String, String)>) -> Vec<(String, String)> {
    headers
        .into_iter()
        .filter(|(name, _)| !OWN_HEADERS.contains(&name.as_str()))
        .collect()
}

#[test]
fn each_captured_pair_goes_through_byte_for_byte() {
    let cases = fixtures::cases();
    assert_eq!(cases.len(), 27);
    let answers = cases.clone();
    let server = FakeServer::start(move |request| {
        let case = answers
            .iter()
            .find(|case| request.header("x-case") == Some(&case.name));
        case.map_or_else(Answer::new, Case::answer)
    });
    let gateway = Gateway::start(BINARY, &documents(&server));
    for case in &cases {
        for pretty in [false, true] {
            check(&gateway, &server, case, pretty);
        }
    }
}

fn check(gateway: &Gateway, server: &FakeServer, case: &Case, pretty: bool) {
    let line = format!("x-case: {}\r\n", case.name);
    let body = case.body_of_request(pretty);
    let response = if body.is_empty() {
        gateway.ask(get(&case.path, &line))
    } else {
        gateway.ask(post(&case.path, &body, &line))
    };
    let name = &case.name;
    assert_eq!(
        response.status(),
        case.status,
        "{name}: {}",
        response.text()
    );
    assert_eq!(response.text(), case.body, "{name}");
    let mut want: Vec<(String, String)> = case
        .headers
        .iter()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    for (key, value) in &mut want {
        if key == "content-length" {
            *value = case.body.len().to_string();
        }
    }
    assert_eq!(without(response.headers.clone()), without(want), "{name}");
    let received = server.last();
    assert_eq!(received.text(), body, "{name}: {received:?}");
    assert_eq!(received.path(), case.path, "{name}");

    let usage = USAGE.iter().find(|(known, ..)| known == name);
    let outcome = gateway.decision(&response.need("x-request-id"))["outcome"].clone();
    let got = ["promptTokens", "completionTokens", "cachedTokens"].map(|key| outcome[key].as_u64());
    let want = usage.map_or([None; 3], |&(_, prompt, completion, cached)| {
        [Some(prompt), Some(completion), cached]
    });
    assert_eq!(got, want, "{name}: {outcome}");
    assert_eq!(outcome["status"], case.status, "{name}");
}

#[test]
fn what_cannot_be_read_is_refused_where_its_model_is_needed() {
    let chat = "/v1/chat/completions";
    let to_pool = documents::to_pool("models");
    let by_model = documents::route(
        "by-model",
        &format!(
            "[{{matches: [{{headers: [{{name: x-gateway-model-name, value: tiny}}]}}], \
             backendRefs: [{to_pool}]}}]"
        ),
    );
    let rewrite = "\n---\napiVersion: llm-d.ai/v1alpha2\nkind: InferenceModelRewrite\n\
                   metadata: {name: canary}\nspec: {poolRef: {name: models}, rules: [\
                   {matches: [{model: {value: other}}], targets: [{modelRewrite: canary}]}]}\n";
    for more in [by_model.as_str(), rewrite] {
        let server = FakeServer::start(|_| Answer::json("{}"));
        let gateway = Gateway::start(BINARY, &(documents(&server) + more));
        for body in fixtures::BROKEN {
            let response = gateway.ask(post(chat, body, ""));
            assert_eq!(response.status(), 400, "{}", response.text());
            assert_eq!(response.json()["error"]["type"], "invalid_request_error");
        }
        assert_eq!(server.requests().len(), 0);
        // Where only the prompt is missing, the model is there to go by.
        let promptless = "{\"model\": \"tiny\"}";
        let response = gateway.ask(post(chat, promptless, ""));
        assert_eq!(response.status(), 200, "{}", response.text());
        assert_eq!(server.last().text(), promptless);
    }
}

#[test]
fn captured_metrics_pages_are_read_right() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let gateway = Gateway::start(BINARY, &documents(&server));
    // Running, waiting, KV usage, adapters of the newest series, most adapters.
    let pages = [
        (
            fixtures::METRICS_BUSY_1,
            69,
            261,
            0.008_728_56,
            &["medical", "reasoning"][..],
        ),
        (
            fixtures::METRICS_BUSY_3,
            128,
            202,
            0.015_992_187,
            &["medical", "reasoning"][..],
        ),
        (fixtures::METRICS_AFTER, 0, 0, 0.0, &[][..]),
    ];
    for (page, running, waiting, usage, adapters) in pages {
        server.set_metrics(page);
        assert_eventually("the page is read", || {
            let endpoint = &gateway.endpoints()[0];
            endpoint["running"] == running && endpoint["waiting"] == waiting
        });
        let endpoint = &gateway.endpoints()[0];
        let read = endpoint["kvUsage"].as_f64().unwrap();
        assert!((read - usage).abs() < 1e-6, "{read}");
        assert_eq!(
            endpoint["loraActive"],
            serde_json::json!(adapters),
            "{endpoint}"
        );
        // One that runs is loaded, also where more requests for it wait.
        assert_eq!(endpoint["loraWaiting"], serde_json::json!([]));
        assert_eq!(endpoint["loraMax"], 2);
        assert_eq!(endpoint["engine"], "vllm");
        assert_eq!(endpoint["state"], "fresh");
    }
}
