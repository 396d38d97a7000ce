//! `suimon bbr`: body-based routing for other people's gateways. The test plays the proxy.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test"
)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use suimon_extproc::message::{
    Header, HeaderMutation, HttpBody, HttpHeaders, Part, ProcessingRequest, Reply,
};
use suimon_testkit::gateway::run;
use suimon_testkit::process::Process;
use suimon_testkit::processor::{Called, Security, ask, is_serving};
use suimon_testkit::{Ports, admin};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const MODEL: &str = "x-gateway-model-name";
const BASE: &str = "x-gateway-base-model-name";

struct Bbr {
    ports: Ports,
    process: Process,
    map: PathBuf,
    _folder: TempDir,
}

fn write(map: &Path, base: &str) {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: adapters\n  labels:\n    \
         inference.networking.k8s.io/bbr-managed: \"true\"\ndata:\n  baseModel: {base}\n  \
         adapters: |\n    - sql\n    - chat\n"
    );
    std::fs::write(map, text).unwrap();
}

impl Bbr {
    fn start(flags: &[&str]) -> Self {
        let (folder, ports) = (tempfile::tempdir().unwrap(), Ports::free());
        let map = folder.path().join("map.yaml");
        write(&map, "llama");
        let mut command = Command::new(BINARY);
        command
            .args(["bbr", "--address", "127.0.0.1", "--lora-map"])
            .arg(&map)
            .args(["--grpc-port", &ports.grpc.to_string()])
            .args(["--grpc-health-port", &ports.health.to_string()])
            .args(["--metrics-port", &ports.metrics.to_string()])
            .args(flags);
        let mut process = Process::spawn(command);
        process.await_ready(([127, 0, 0, 1], ports.metrics).into());
        Self {
            ports,
            process,
            map,
            _folder: folder,
        }
    }

    fn at(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn ask(
        &self,
        security: Security,
        body: &str,
    ) -> Called<suimon_extproc::message::ProcessingResponse> {
        let headers = [
            (":method", "POST"),
            (":path", "/v1/chat/completions"),
            (MODEL, "spoofed"),
        ];
        let headers = headers.map(|(name, value)| Header::new(name, value));
        let head = HttpHeaders {
            headers: headers.into(),
            end_of_stream: false,
        };
        let (start, rest) = body.as_bytes().split_at(body.len() / 2);
        let chunk = |bytes: &[u8], end_of_stream| {
            ProcessingRequest::of(Part::RequestBody(HttpBody {
                body: bytes.to_vec().into(),
                end_of_stream,
            }))
        };
        let messages = [
            ProcessingRequest::of(Part::RequestHeaders(head)),
            chunk(start, false),
            chunk(rest, true),
        ];
        ask(Self::at(self.ports.grpc), security, &messages)
    }

    /// The two headers for a model.
    fn named(&self, security: Security, model: &str) -> (String, String) {
        let called = self.ask(security, &format!(r#"{{"model":"{model}"}}"#));
        assert_eq!((called.messages.len(), called.status.as_str()), (2, "0"));
        let Some(Reply::RequestHeaders(common)) = &called.messages[0].reply else {
            panic!("{called:?}")
        };
        assert!(common.clear_route_cache);
        (value(&common.headers, MODEL), value(&common.headers, BASE))
    }

    fn metrics(&self) -> String {
        admin::ask(Self::at(self.ports.metrics), "/metrics").text()
    }
}

fn value(headers: &HeaderMutation, name: &str) -> String {
    let found = headers.set.iter().find(|set| set.header.name == name);
    let value = &found
        .unwrap_or_else(|| panic!("no {name}: {headers:?}"))
        .header
        .value;
    String::from_utf8(value.to_vec()).unwrap()
}

fn pair(model: &str, base: &str) -> (String, String) {
    (model.to_owned(), base.to_owned())
}

#[test]
fn models_go_into_headers_over_tls_of_its_own() {
    let bbr = Bbr::start(&[]);
    for (model, base) in [("sql", "llama"), ("llama", "llama"), ("other", "")] {
        assert_eq!(bbr.named(Security::Unverified, model), pair(model, base));
    }
    let called = bbr.ask(Security::Unverified, r#"{"messages":[]}"#);
    let Some(Reply::RequestHeaders(common)) = &called.messages[0].reply else {
        panic!("{called:?}")
    };
    assert!(common.headers.set.is_empty(), "it goes on without headers");
    assert_eq!(common.headers.remove, [MODEL]);
    let page = bbr.metrics();
    for line in [
        "bbr_success_total 3",
        "bbr_body_field_not_found_total{field=\"model\"} 1",
    ] {
        assert!(page.lines().any(|have| have == line), "{line}\n{page}");
    }
    for service in ["", "readiness", "whatever"] {
        assert!(is_serving(Bbr::at(bbr.ports.health), service), "{service}");
    }
}

#[test]
fn the_map_is_followed_and_a_broken_one_is_not_taken() {
    let bbr = Bbr::start(&["--secure-serving=false"]);
    assert_eq!(bbr.named(Security::Plain, "sql"), pair("sql", "llama"));
    write(&bbr.map, "qwen");
    bbr.process.await_log("the LoRA map has changed", 1);
    assert_eq!(bbr.named(Security::Plain, "sql"), pair("sql", "qwen"));
    write(&bbr.map, "\"\"");
    bbr.process.await_log("the last good one stays", 1);
    let fault = "map.yaml: document 1: ConfigMap `default/adapters`: `data.baseModel`: missing or empty \
                 baseModel in configmap; accepted: ";
    bbr.process.await_log(fault, 1);
    assert_eq!(bbr.named(Security::Plain, "sql"), pair("sql", "qwen"));
    let refused = "suimon_config_reloads_total{result=\"refused\"} 1";
    assert!(bbr.metrics().contains(refused));
}

#[test]
fn strict_mode_refuses_and_the_end_is_clean() {
    let mut bbr = Bbr::start(&["--secure-serving=false", "--strict", "--drain-timeout=2s"]);
    let called = bbr.ask(Security::Plain, "{}");
    let [reply] = &called.messages[..] else {
        panic!("{called:?}")
    };
    let Some(Reply::Immediate(answer)) = &reply.reply else {
        panic!("{called:?}")
    };
    assert_eq!(answer.status, 400);
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["error"]["code"], "model-missing");
    let refused = "suimon_bbr_refused_total{reason=\"model-missing\"} 1";
    assert!(bbr.metrics().contains(refused));
    bbr.process.terminate();
    assert!(bbr.process.await_end().success());
}

#[test]
fn what_cannot_work_ends_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("none.yaml");
    std::fs::write(&empty, "").unwrap();
    let empty = format!("--lora-map={}", empty.display());
    for (flags, start) in [
        (
            vec!["--grpc-health-port=9004"],
            "--grpc-port and --grpc-health-port must differ; both are 9004",
        ),
        (
            vec!["--plugin=a:b"],
            "--plugin \"a:b\": there are no plugins here; ",
        ),
        (vec!["--lora-map=/nowhere"], "/nowhere: cannot be read: "),
        (vec![empty.as_str()], "/"),
        (
            vec!["--cert-path=/nowhere"],
            "`/nowhere/tls.crt`: no certificate chain",
        ),
    ] {
        let ended = run(BINARY, &[&["bbr"], &flags[..]].concat());
        assert_eq!(ended.status.code(), Some(1), "{}", ended.err);
        let last = ended.err.lines().last().unwrap_or_default();
        let last = last.strip_prefix("error: ").unwrap_or(last);
        assert!(last.starts_with(start), "{start}\n{}", ended.err);
    }
    let typed = run(BINARY, &["bbr", "--lora-maps=x"]);
    assert_eq!(typed.status.code(), Some(2));
    assert!(typed.err.contains("'--lora-map'"), "{}", typed.err);
}
