//! A pool whose picker is a Service that cannot be found: its failure mode applies.

use suimon_testkit::gateway::run;
use suimon_testkit::{Gateway, Sims, chat_body, documents, post};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

fn documents(sims: &Sims, mode: &str) -> String {
    let spec = format!("endpointPickerRef: {{name: epp, port: {{number: 9002}}{mode}}}");
    let (route, addresses) = (documents::route_to_pool("models"), sims.addresses());
    let pool = documents::pool("models", &addresses, &spec);
    [documents::GATEWAY, &route, &pool].concat()
}

#[test]
fn fail_close_is_503_and_the_default() {
    let sims = Sims::start(2);
    for mode in [", failureMode: FailClose", ""] {
        let gateway = Gateway::start(BINARY, &documents(&sims, mode));
        let answer = gateway.chat("llama", &["hello"]);
        assert_eq!(answer.status(), 503, "{mode}: {}", answer.text());
        let error = &answer.json()["error"];
        assert_eq!(error["code"], "picker-failed");
        assert_eq!(error["request_id"], answer.need("x-request-id"));
    }
    assert_eq!(sims.received(), [0, 0]);
}

#[test]
fn fail_open_sends_the_request_as_it_is_to_a_pod() {
    let sims = Sims::start(2);
    let gateway = Gateway::start(BINARY, &documents(&sims, ", failureMode: FailOpen"));
    let body = chat_body("llama", &["hello"]);
    let mut client = gateway.client();
    for _ in 0..4 {
        let spoofed = "x-gateway-destination-endpoint: 169.254.169.254:80\r\nx-prefiller-host-port: 10.9.9.9:1\r\n";
        let answer = client.ask(post("/v1/chat/completions", &body, spoofed));
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }
    assert_eq!(sims.received(), [2, 2], "they take turns");
    for request in sims.iter().flat_map(|replica| replica.received()) {
        assert_eq!(request.body, body);
        assert_eq!(request.path, "/v1/chat/completions");
        let destination = request.headers.get("x-gateway-destination-endpoint");
        assert!(destination.is_none_or(|value| value != "169.254.169.254:80"));
        assert!(request.headers.get("x-prefiller-host-port").is_none());
    }
    let pool = &gateway.api("/api/pools")["pools"][0];
    let why = "Service `default/epp` is not found";
    assert!(
        pool["picker"]
            .as_str()
            .is_some_and(|text| text.starts_with(why)),
        "{pool}"
    );
    assert_eq!(pool["failureMode"], "FailOpen");
}

#[test]
fn check_says_that_the_reference_is_not_resolved() {
    let sims = Sims::start(1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("g.yaml");
    std::fs::write(&file, documents(&sims, "").replace("@PORT@", "8080")).unwrap();
    let checked = run(BINARY, &["check", &file.display().to_string()]);
    let line = checked
        .out
        .lines()
        .find(|line| line.starts_with("InferencePool default/models"));
    let line = line.unwrap_or_else(|| panic!("{}", checked.out));
    assert!(
        line.contains("not ResolvedRefs (InvalidExtensionRef: "),
        "{line}"
    );
}
