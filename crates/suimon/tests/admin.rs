//! What the admin port shows.

use std::collections::BTreeSet;

use serde_json::Value;
use suimon_testkit::{
    Answer, FakeServer, Gateway, GatewayOptions, Sims, Wire, assert_eventually, documents, get,
    post,
};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

fn gateway(endpoints: &[std::net::SocketAddr]) -> Gateway {
    Gateway::start(BINARY, &yaml(endpoints))
}

fn yaml(endpoints: &[std::net::SocketAddr]) -> String {
    let (route, pool) = (
        documents::route_to_pool("models"),
        documents::pool("models", endpoints, ""),
    );
    [documents::GATEWAY, &route, &pool].concat()
}

#[test]
fn ready_waits_for_each_endpoint_to_be_scraped_or_given_up() {
    // It takes connections and never answers: neither scraped nor refused.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let options = GatewayOptions {
        no_wait: true,
        ..GatewayOptions::default()
    };
    let endpoints = [silent.local_addr().unwrap()];
    let mut gateway = Gateway::start_with(BINARY, &yaml(&endpoints), &options);
    assert_eventually("the admin server answers", || {
        std::net::TcpStream::connect(gateway.admin).is_ok()
    });
    assert_eq!(gateway.admin("/live").status(), 200);
    assert_eventually("it says what it waits for", || {
        let ready = gateway.admin("/ready");
        assert_eq!(ready.status(), 503);
        ready.text() == "1 endpoints were neither scraped nor given up\n"
    });
    drop(silent);
    gateway.await_ready();
    let ready = gateway.admin("/ready");
    assert_eq!((ready.status(), ready.text()), (200, "ready\n".to_owned()));
}

#[test]
fn metrics_have_the_names_of_the_peers() {
    let sims = Sims::start(2);
    let gateway = gateway(&sims.addresses());
    let id = gateway.chat("llama", &["hello"]).need("x-request-id");
    let decision = gateway.decision(&id);
    let answer = gateway.admin("/metrics");
    assert_eq!(answer.status(), 200);
    assert!(
        answer
            .need("content-type")
            .starts_with("application/openmetrics-text")
    );
    let page = answer.text();
    assert!(page.ends_with("# EOF\n"));
    let labels = "{model_name=\"llama\",target_model_name=\"llama\"";
    for name in [
        "llm_d_epp_request_total",
        "llm_d_epp_request_duration_seconds_count",
    ] {
        let line = page
            .lines()
            .find(|line| line.starts_with(&format!("{name}{labels}")));
        assert!(
            line.is_some_and(|line| line.ends_with(" 1")),
            "{name}: {line:?}\n{page}"
        );
    }
    for (start, value) in [
        ("llm_d_epp_ready_endpoints{name=\"default/models\"}", " 2"),
        ("llm_d_epp_scheduler_e2e_duration_seconds_count", " 1"),
        (
            "suimon_responses_total{route=\"default/all\",status=\"200\",outcome=\"completed\"}",
            " 1",
        ),
    ] {
        let line = page.lines().find(|line| line.starts_with(start));
        assert!(
            line.is_some_and(|line| line.ends_with(value)),
            "{start}: {line:?}\n{page}"
        );
    }
    for name in [
        "llm_d_epp_average_kv_cache_utilization",
        "llm_d_epp_average_queue_size",
        "llm_d_epp_flow_control_pool_saturation",
        "llm_d_epp_per_endpoint_queue_size",
        "llm_d_epp_inflight_requests",
        "llm_d_epp_prefix_indexer_size",
        "llm_d_epp_datalayer_poll_errors_total",
    ] {
        assert!(
            page.lines().any(|line| line.starts_with(name)),
            "{name} is not in\n{page}"
        );
    }
    assert_eq!(decision["outcome"]["status"], 200);
}

/// Series by family, comments left out.
fn series(page: &str, model: &str) -> usize {
    page.lines()
        .filter(|line| !line.starts_with('#') && line.contains(model))
        .count()
}

#[test]
fn models_of_clients_do_not_become_series_without_end() {
    let server = FakeServer::start(|_| Answer::json("{\"usage\":{\"prompt_tokens\":3}}"));
    let rewrite = "\n---\napiVersion: llm-d.ai/v1alpha2\nkind: InferenceModelRewrite\n\
        metadata: {name: r}\nspec: {poolRef: {name: models}, rules: [{matches: [{model: \
        {value: configured}}], targets: [{modelRewrite: target}]}]}\n";
    let options = GatewayOptions {
        flags: vec!["--log".into(), "warn".into()],
        no_wait: false,
    };
    let gateway = Gateway::start_with(BINARY, &(yaml(&[server.address]) + rewrite), &options);
    let mut client = gateway.client();
    let mut ask = |model: &str| {
        let body = format!("{{\"model\":\"{model}\",\"prompt\":\"x\"}}");
        let line = format!("x-llm-d-inference-fairness-id: f{}\r\n", model.len());
        assert_eq!(
            client.ask(post("/v1/completions", &body, &line)).status(),
            200,
            "{model}"
        );
    };
    for number in 0..1_100 {
        ask(&format!("model-{number}"));
    }
    let first = gateway.admin("/metrics").text();
    for number in 1_100..5_000 {
        ask(&format!("model-{number}"));
    }
    let odd = [
        "other",
        "quote\\\"",
        "line\\nbreak",
        "back\\\\slash",
        &"x".repeat(60_000),
    ];
    odd.iter().for_each(|model| ask(model));
    ask("configured");
    let page = gateway.admin("/metrics").text();
    let names: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.split("model_name=\"").nth(1)?.split("\",").next())
        .collect();
    assert!(names.len() <= 110, "{} models", names.len());
    assert!(names.contains("other") && names.contains("configured"));
    assert!(!names.contains("model-4999"));
    // After the bound only `other` and the configured name can have got series.
    let share = first.len() / 100;
    assert!(
        page.len() < first.len() + 3 * share,
        "{} and then {}",
        first.len(),
        page.len()
    );
    assert!(series(&page, "model_name=\"configured\"") > 0);
    assert!(names.iter().all(|name| name.len() < 300));
    let known = |line: &str| {
        line.starts_with('#')
            || line
                .rsplit(' ')
                .next()
                .is_some_and(|v| v.parse::<f64>().is_ok())
    };
    assert!(page.lines().all(known), "a name has broken a line");
}

/// The names of all members, by path; elements of lists count as one.
fn shape(value: &Value, path: &str, shapes: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                shape(value, &format!("{path}.{name}"), shapes);
            }
        }
        Value::Array(items) if items.is_empty() => drop(shapes.insert(format!("{path}: []"))),
        Value::Array(items) => items
            .iter()
            .for_each(|item| shape(item, &format!("{path}[]"), shapes)),
        Value::Null => drop(shapes.insert(format!("{path}: null"))),
        Value::Bool(_) => drop(shapes.insert(format!("{path}: bool"))),
        Value::Number(_) => drop(shapes.insert(format!("{path}: number"))),
        Value::String(_) => drop(shapes.insert(format!("{path}: string"))),
    }
}

#[test]
fn the_json_keeps_its_shape() {
    let sims = Sims::start(2);
    let gateway = gateway(&sims.addresses());
    let id = gateway.chat("llama", &["hello"]).need("x-request-id");
    assert_eq!(gateway.decision(&id)["model"], "llama");
    let mut shapes = BTreeSet::new();
    for path in ["/api/pools", "/api/decisions"] {
        let answer = gateway.admin(path);
        assert_eq!(answer.need("content-type"), "application/json");
        shape(&answer.json(), path, &mut shapes);
    }
    let shapes: Vec<_> = shapes.into_iter().collect();
    insta::assert_snapshot!(shapes.join("\n"));
}

#[test]
fn decisions_are_the_newest_first_and_bounded() {
    let sims = Sims::start(1);
    let flags = vec!["--keep-decisions".to_owned(), "10".to_owned()];
    let options = GatewayOptions {
        flags,
        no_wait: false,
    };
    let gateway = Gateway::start_with(BINARY, &yaml(&sims.addresses()), &options);
    for number in 0..15 {
        let line = format!("x-request-id: r{number}\r\n");
        let body = "{\"model\":\"llama\",\"prompt\":\"x\",\"max_tokens\":1}";
        assert_eq!(
            gateway.ask(post("/v1/completions", body, &line)).status(),
            200
        );
    }
    let ids = |path: &str| -> Vec<String> {
        let all = gateway.api(path);
        let all = all.as_array().unwrap().iter();
        all.map(|one| one["requestId"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("/api/decisions?limit=3"), ["r14", "r13", "r12"]);
    assert_eq!(ids("/api/decisions").len(), 10);
    assert_eq!(ids("/api/decisions?limit=100000").len(), 10);
    assert_eq!(ids("/api/decisions?limit=0").len(), 0);
    assert_eq!(ids("/api/decisions?limit=x").len(), 10);
}

#[test]
fn pages_are_safe_to_open() {
    let gateway = gateway(&[]);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/app.js", "text/javascript; charset=utf-8"),
        ("/style.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/live", "text/plain; charset=utf-8"),
    ] {
        let answer = gateway.admin(path);
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.need("content-type"), kind);
        assert_eq!(answer.need("content-security-policy"), "default-src 'self'");
        assert_eq!(answer.need("x-content-type-options"), "nosniff");
    }
    let missing = gateway.admin("/api/secrets");
    assert_eq!(missing.status(), 404);
    assert!(missing.text().contains("/api/pools"), "{}", missing.text());
    assert_eq!(gateway.admin("/../Cargo.toml").status(), 404);
    let mut wire = Wire::connect(gateway.admin);
    assert_eq!(wire.ask(post("/api/pools", "{}", "")).status(), 405);
    let mut wire = Wire::connect(gateway.admin);
    wire.send(get("/", "").replace("GET", "HEAD"));
    assert_eq!(wire.head().unwrap().status(), 200);
}
