//! `suimon epp` behind a real Envoy, both by the files of `examples/envoy`.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by it, in its helpers too"
)]

mod agreement;
mod captures;
mod ending;

use std::net::SocketAddr;

use suimon_testkit::{Answer, Envoy, Epp, FakeServer, Ports, Sims, chat_body, get, post};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const CHAT: &str = "/v1/chat/completions";

fn start(endpoints: &[SocketAddr], flags: &[&str]) -> (Epp, Envoy) {
    let epp = Epp::start(BINARY, endpoints, Ports::free(), flags);
    let envoy = Envoy::start(&[epp.ports], |text| text);
    (epp, envoy)
}

#[test]
fn the_endpoint_that_was_picked_serves_needs_envoy() {
    let sims = Sims::start(3);
    let (epp, envoy) = start(&sims.addresses(), &[]);
    for number in 0..12 {
        let text = format!("hello {number}");
        let whole = chat_body("llama", &[&text]);
        let streamed = whole.replacen('{', "{\"stream\":true,", 1);
        for body in [whole, streamed] {
            let response = envoy.ask(post(CHAT, &body, ""));
            assert_eq!(response.status(), 200, "{}", response.text());
            let decision = epp.decision(&response.need("x-request-id"));
            assert_eq!(decision["pool"], "test/models");
            let outcome = &decision["outcome"];
            assert_eq!(outcome["status"], 200, "{decision}");
            assert_eq!(outcome["end"], "completed", "{decision}");
            let served = response.need("x-inference-pod");
            let place: usize = served.strip_prefix("sim-").unwrap().parse().unwrap();
            let address = sims.addresses()[place].to_string();
            assert_eq!(outcome["served"], address, "{decision}");
            let received = sims[place].received();
            let told = received
                .last()
                .unwrap()
                .headers
                .get("x-gateway-destination-endpoint");
            assert_eq!(told.unwrap(), &address);
        }
        if number == 0 {
            let response = envoy.ask(get("/v1/models", ""));
            assert_eq!(response.status(), 200, "{}", response.text());
        }
    }
    assert!(sims.received().iter().all(|&count| count > 0));
    let page = suimon_testkit::admin::ask(epp.admin(), "/metrics").text();
    let line =
        "suimon_responses_total{route=\"test/models\",status=\"200\",outcome=\"completed\"} 25";
    assert!(page.contains(line), "{page}");
    assert!(
        page.contains("llm_d_epp_request_total{model_name=\"llama\""),
        "{page}"
    );
}

#[test]
fn plaintext_and_versions_of_tls_needs_envoy() {
    let sims = Sims::start(1);
    let (_epp, envoy) = start(&sims.addresses(), &["--tls-min-version=VersionTLS12"]);
    assert_eq!(envoy.ask(get("/v1/models", "")).status(), 200);

    let flags = ["--secure-serving=false"];
    let epp = Epp::start(BINARY, &sims.addresses(), Ports::free(), &flags);
    let envoy = Envoy::start(&[epp.ports], |text| {
        let (before, rest) = text.split_once("    transport_socket:").unwrap();
        let (_, after) = rest.split_once("          alpn_protocols: [h2]\n").unwrap();
        [before, after].concat()
    });
    assert_eq!(envoy.ask(get("/v1/models", "")).status(), 200);
}

#[test]
fn long_bodies_pass_needs_envoy() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let (_epp, envoy) = start(&[server.address], &["--max-body-mib", "1"]);
    for length in [61_999, 62_000, 62_001, 400_000] {
        let frame = chat_body("m", &[""]).len();
        let body = chat_body("m", &[&"x".repeat(length - frame)]);
        assert_eq!(body.len(), length);
        let response = envoy.ask(post(CHAT, &body, ""));
        assert_eq!(response.status(), 200, "{}", response.text());
        assert!(server.last().text() == body, "a body of {length} bytes");
    }
    let count = server.requests().len();
    let body = chat_body("m", &[&"x".repeat(2 << 20)]);
    let response = envoy.ask(post(CHAT, &body, ""));
    assert_eq!(response.status(), 413, "{}", response.text());
    assert_eq!(server.requests().len(), count);
}

#[test]
fn headers_of_the_picker_are_nothing_that_clients_set_needs_envoy() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let elsewhere = FakeServer::start(|_| Answer::json("{}"));
    let (_epp, envoy) = start(&[server.address], &[]);
    let spoofed = format!(
        "x-gateway-destination-endpoint: {}\r\nx-prefiller-host-port: 10.9.9.9:1\r\nx-mine: 1\r\n",
        elsewhere.address
    );
    let requests = [
        post(CHAT, &chat_body("m", &["x"]), &spoofed),
        get("/v1/models", &spoofed),
    ];
    for request in requests {
        assert_eq!(envoy.ask(request).status(), 200);
        let received = server.last();
        let destination = received.all("x-gateway-destination-endpoint");
        assert_eq!(destination, [server.address.to_string()]);
        assert_eq!(received.header("x-prefiller-host-port"), None);
        assert_eq!(received.header("x-mine"), Some("1"));
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn the_subset_of_a_proxy_counts_unless_it_is_disabled_needs_envoy() {
    let sims = Sims::start(3);
    let allowed = sims.addresses()[1].to_string();
    let hint = |text: String| {
        let filter = "          - name: envoy.filters.http.ext_proc\n";
        let set = format!(
            "          - name: envoy.filters.http.set_metadata\n            typed_config:\n\
             \x20             \"@type\": type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config\n\
             \x20             metadata:\n\
             \x20             - metadata_namespace: envoy.lb.subset_hint\n\
             \x20               value: {{x-gateway-destination-endpoint-subset: [\"{allowed}\"]}}\n"
        );
        let forwarded = "untyped: [envoy.lb]}\n                forwarding_namespaces: \
                         {untyped: [envoy.lb.subset_hint]}";
        text.replace(filter, &(set + filter))
            .replace("untyped: [envoy.lb]}", forwarded)
    };
    for (flag, want) in [("false", 1), ("true", 3)] {
        let flag = format!("--disable-endpoint-subset-filter={flag}");
        let epp = Epp::start(BINARY, &sims.addresses(), Ports::free(), &[&flag]);
        let envoy = Envoy::start(&[epp.ports], hint);
        let mut served: Vec<String> = (0..30)
            .map(|number| {
                let body = chat_body("llama", &[&format!("{flag} {number}")]);
                let response = envoy.ask(post(CHAT, &body, ""));
                assert_eq!(response.status(), 200, "{}", response.text());
                response.need("x-inference-pod")
            })
            .collect();
        served.sort();
        served.dedup();
        assert_eq!(served.len(), want, "{flag}: {served:?}");
        assert!(served.contains(&"sim-1".to_owned()));
    }
}

#[test]
fn the_openai_client_works_needs_envoy_needs_openai() {
    let sims = Sims::start(2);
    let (_epp, envoy) = start(&sims.addresses(), &[]);
    let python = std::env::var("OPENAI_PYTHON").expect("OPENAI_PYTHON names a Python with openai");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/openai_client.py");
    let base = format!("http://{}/v1", envoy.address);
    let said = suimon_testkit::gateway::run(&python, &[script, &base, "llama", "all"]);
    assert!(said.status.success(), "{}", said.err);
    let said: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(said["chat"][0], "llama", "{said}");
    assert_eq!(said["stream"]["models"][0], "llama", "{said}");
    assert!(
        said["stream"]["completion_tokens"].as_u64() > Some(0),
        "{said}"
    );
    assert_eq!(said["models"][0], "llama", "{said}");
    assert_eq!(said["embeddings"], serde_json::json!([384, 384]), "{said}");
    assert_eq!(said["unknown"][0], "NotFoundError", "{said}");
}
