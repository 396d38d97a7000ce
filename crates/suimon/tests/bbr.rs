//! Body-based routing: the body's `model` decides where routes ask for it.

use suimon_testkit::{Gateway, Sims, chat_body, documents, get, post};

const CHAT: &str = "/v1/chat/completions";

fn rule(model: &str, pool: &str) -> String {
    format!(
        "{{matches: [{{path: {{type: PathPrefix, value: /v1/}}, headers: [{{type: Exact, name: \
         X-Gateway-Model-Name, value: {model}}}]}}], backendRefs: [{}]}}",
        documents::to_pool(pool)
    )
}

fn start() -> (Sims, Gateway) {
    let sims = Sims::with(2, |number, config| {
        config.model = ["llama", "qwen"][number].to_owned();
    });
    let (addresses, any) = (sims.addresses(), documents::to_pool("first"));
    let models = format!(
        "{{matches: [{{path: {{type: Exact, value: /v1/models}}, method: GET}}], backendRefs: [{any}]}}"
    );
    let rules = [rule("llama", "first"), rule("qwen", "second"), models].join(", ");
    let yaml = [
        documents::GATEWAY,
        &documents::route("by-model", &format!("[{rules}]")),
        &documents::pool("first", &addresses[..1], ""),
        &documents::pool("second", &addresses[1..], ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    (sims, gateway)
}

#[test]
fn requests_go_by_the_model_of_their_body() {
    let (sims, gateway) = start();
    for (model, pod) in [("llama", "sim-0"), ("qwen", "sim-1"), ("llama", "sim-0")] {
        let answer = gateway.chat(model, &["hello"]);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        assert_eq!(answer.need("x-inference-pod"), pod);
        assert_eq!(answer.json()["model"], model);
    }
    let received = sims[1].received();
    assert_eq!(received[0].headers["x-gateway-model-name"], "qwen");
}

#[test]
fn the_header_of_a_client_does_not_count() {
    let (sims, gateway) = start();
    for spoofed in [
        "X-Gateway-Model-Name: qwen\r\n",
        "x-gateway-model-name: qwen\r\nX-Gateway-Model-Name: x\r\n",
    ] {
        let answer = gateway.ask(post(CHAT, &chat_body("llama", &["hello"]), spoofed));
        assert_eq!(answer.need("x-inference-pod"), "sim-0");
    }
    let received = sims[0].received();
    let all: Vec<_> = received[1]
        .headers
        .get_all("x-gateway-model-name")
        .iter()
        .collect();
    assert_eq!(all, ["llama"]);
    let answer = gateway.ask(post(
        CHAT,
        &chat_body("unknown", &["hello"]),
        "x-gateway-model-name: qwen\r\n",
    ));
    assert_eq!(answer.status(), 404);
    assert_eq!(sims.received(), [2, 0]);
}

#[test]
fn no_model_is_400_and_an_unknown_one_404() {
    let (sims, gateway) = start();
    for body in [
        "{\"messages\":[]}",
        "{\"model\":null,\"messages\":[]}",
        "{\"model\":7}",
        "{",
        "[]",
        "",
    ] {
        let answer = gateway.ask(post(CHAT, body, ""));
        assert_eq!(answer.status(), 400, "{body}: {}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["type"], "invalid_request_error", "{body}");
        assert_eq!(error["request_id"], answer.need("x-request-id"), "{body}");
    }
    let answer = gateway.chat("gpt-7", &["hello"]);
    assert_eq!(answer.status(), 404, "{}", answer.text());
    assert_eq!(answer.json()["error"]["type"], "not_found_error");
    assert_eq!(sims.received(), [0, 0]);
}

#[test]
fn a_request_without_body_goes_by_the_routes_that_need_no_model() {
    let (_sims, gateway) = start();
    let answer = gateway.ask(get("/v1/models", ""));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!(answer.json()["data"][0]["id"], "llama");
}
