//! The configuration changes under load without a failed request; a broken one changes nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use suimon_testkit::ports::free_port;
use suimon_testkit::{Gateway, Sims, Wire, assert_eventually, chat_body, documents, get, post};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const CLIENTS: usize = 8;
const CHANGES: usize = 20;

const LORA_ONLY: &str = "\
plugins:
- type: lora-affinity-scorer
schedulingProfiles:
- name: default
  plugins: [{pluginRef: lora-affinity-scorer}]
";

fn documents(sims: &Sims, endpoints: usize) -> String {
    let (route, addresses) = (documents::route_to_pool("models"), sims.addresses());
    [
        documents::GATEWAY,
        &route,
        &documents::pool("models", &addresses[..endpoints], ""),
    ]
    .concat()
}

/// A client that sends one request after the other on one connection; gives their number.
fn load(
    gateway: &Gateway,
    stop: &Arc<AtomicBool>,
    sent: &Arc<AtomicUsize>,
) -> std::thread::JoinHandle<()> {
    let (address, stop, sent) = (gateway.address, Arc::clone(stop), Arc::clone(sent));
    std::thread::spawn(move || {
        let mut wire = Wire::connect(address);
        let request = post("/v1/chat/completions", &chat_body("llama", &["hello"]), "");
        while !stop.load(Ordering::Relaxed) {
            let answer = wire.ask(&request);
            assert_eq!(answer.status(), 200, "{}", answer.text());
            assert_eq!(answer.header("connection"), None);
            sent.fetch_add(1, Ordering::Relaxed);
        }
    })
}

#[test]
fn changes_under_load_fail_no_request() {
    let sims = Sims::start(3);
    let gateway = Gateway::start(BINARY, &documents(&sims, 3));
    let (stop, sent) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let clients: Vec<_> = (0..CLIENTS).map(|_| load(&gateway, &stop, &sent)).collect();
    let extra = free_port();
    let listener = format!("port: @PORT@}}, {{name: more, protocol: HTTP, port: {extra}}}]");
    for change in 0..CHANGES {
        let before = sent.load(Ordering::Relaxed);
        let mut yaml = documents(&sims, 1 + change % 3);
        if change % 2 == 0 {
            yaml = yaml.replace("port: @PORT@}]", &listener);
            yaml += &documents::route(
                "more",
                &format!(
                    "[{{matches: [{{path: {{value: /more{change}}}}}], backendRefs: [{}]}}]",
                    documents::to_pool("models")
                ),
            );
        }
        // Each fourth time the pool gets another picker, and with it a new memory.
        let own_picker = change % 4 == 3;
        if own_picker {
            let spec = format!("{}\n  targetPorts", documents::picker_ref("picker"));
            yaml = yaml.replace("targetPorts", &spec);
            yaml += &documents::picker("picker", LORA_ONLY);
        }
        gateway.write("gateway.yaml", &yaml);
        gateway.await_log("the configuration has changed", change + 1);
        let pools = gateway.api("/api/pools");
        let scorers = &pools["pools"][0]["profiles"][0]["scorers"];
        let first = if own_picker {
            "lora-affinity-scorer"
        } else {
            "queue-scorer"
        };
        assert_eq!(scorers[0]["name"], first, "change {change}");
        assert_eq!(gateway.endpoints().len(), 1 + change % 3);
        let listens = std::net::TcpStream::connect(("127.0.0.1", extra)).is_ok();
        assert_eq!(listens, change % 2 == 0, "change {change}");
        assert_eventually("requests go on", || {
            sent.load(Ordering::Relaxed) > before + CLIENTS
        });
    }
    stop.store(true, Ordering::Relaxed);
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    let counted = metric(&gateway, "suimon_config_reloads_total{result=\"ok\"}");
    assert_eq!(counted, 1 + CHANGES as u64);
    let page = gateway.admin("/metrics").text();
    let responses = page
        .lines()
        .filter(|line| line.starts_with("suimon_responses_total{"));
    let responses: Vec<_> = responses.collect();
    let well = |line: &&str| line.contains("status=\"200\",outcome=\"completed\"");
    assert!(
        !responses.is_empty() && responses.iter().all(well),
        "{responses:?}"
    );
}

fn metric(gateway: &Gateway, series: &str) -> u64 {
    let page = gateway.admin("/metrics").text();
    let line = page.lines().find_map(|line| line.strip_prefix(series));
    line.and_then(|value| value.trim().parse().ok())
        .unwrap_or_default()
}

#[test]
fn a_broken_file_keeps_the_last_good_configuration_and_is_named() {
    let sims = Sims::start(2);
    let gateway = Gateway::start(BINARY, &documents(&sims, 2));
    let file = gateway.config.join("gateway.yaml");
    let file = file.display().to_string();
    let works =
        || gateway.chat("llama", &["hello"]).status() == 200 && gateway.endpoints().len() == 2;
    // What is broken, and what the log says of it beside the file.
    let broken = [
        (
            documents(&sims, 1).replace("kind: HTTPRoute", "kind: HttpRoute"),
            &["document 2", "`HttpRoute`", "HTTPRoute"][..],
        ),
        (
            documents(&sims, 1).replace("targetPorts", "targetPort"),
            &["document 3", "targetPort", "targetPorts"][..],
        ),
        (
            documents(&sims, 1).replace("selector: {", "selector: [{"),
            &["document 3"][..],
        ),
        (String::new(), &["no documents", "Gateway", "HTTPRoute"][..]),
    ];
    for (number, (yaml, said)) in broken.iter().enumerate() {
        let before = gateway.log().len();
        gateway.write("gateway.yaml", yaml);
        gateway.await_log("the last good one stays", number + 1);
        let log = gateway.log();
        let news = log.get(before..).unwrap_or_default();
        let place = if yaml.is_empty() {
            file.trim_end_matches("/gateway.yaml")
        } else {
            &file
        };
        for part in said.iter().chain([&place]) {
            let error = |line: &str| line.contains(" ERROR ") && line.contains(part);
            assert!(
                news.lines().any(error),
                "`{part}` is not in an error:\n{news}"
            );
        }
        assert!(works(), "{news}");
    }
    // A picker configuration that cannot be built is refused as a whole, too.
    let yaml = documents(&sims, 1).replace(
        "targetPorts",
        &format!("{}\n  targetPorts", documents::picker_ref("p")),
    ) + &documents::picker(
        "p",
        &documents::STANDARD_PICKER.replace("- type: queue-scorer", "- type: queue-scorrer"),
    );
    gateway.write("gateway.yaml", &yaml);
    gateway.await_log("the last good one stays", broken.len() + 1);
    let log = gateway.log();
    let line = log
        .lines()
        .find(|line| line.contains("queue-scorrer"))
        .expect("the log names it");
    for part in ["default/models", "queue-scorer", "default/p"] {
        assert!(line.contains(part), "`{part}` is not in `{line}`");
    }
    assert!(works());
    assert_eq!(
        metric(&gateway, "suimon_config_reloads_total{result=\"refused\"}"),
        5
    );

    std::fs::remove_file(gateway.config.join("gateway.yaml")).unwrap();
    gateway.await_log("the last good one stays", broken.len() + 2);
    assert!(works());
    gateway.write("gateway.yaml", &documents(&sims, 1));
    assert_eventually("the repaired file takes effect", || {
        gateway.endpoints().len() == 1
    });
    assert_eq!(gateway.admin("/ready").status(), 200);
    assert_eq!(gateway.ask(get("/v1/models", "")).status(), 200);
}

#[test]
fn a_listener_moves_to_another_address_of_its_port() {
    let sims = Sims::start(1);
    let before = documents(&sims, 1);
    let gateway = Gateway::start(BINARY, &before);
    let address = "addresses: [{type: IPAddress, value: 127.0.0.1}]";
    assert!(before.contains(address), "{before}");
    gateway.write("gateway.yaml", &before.replace(address, ""));
    let request = post("/v1/chat/completions", &chat_body("llama", &["hello"]), "");
    assert_eventually("the wide address answers", || {
        std::net::TcpStream::connect(("127.0.0.2", gateway.address.port())).is_ok()
    });
    assert_eq!(Wire::connect(gateway.address).ask(&request).status(), 200);
}

#[test]
fn a_configuration_without_listeners_is_refused() {
    let sims = Sims::start(1);
    let gateway = Gateway::start(BINARY, &documents(&sims, 1));
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: alone}\n";
    gateway.write("gateway.yaml", pod);
    gateway.await_log("no listener to bind", 1);
    let request = post("/v1/chat/completions", &chat_body("llama", &["hello"]), "");
    assert_eq!(Wire::connect(gateway.address).ask(&request).status(), 200);
}
