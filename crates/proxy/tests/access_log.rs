//! One line a request, without what must stay secret, and none that a client can forge.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use suimon_proxy::AccessLog;
use suimon_proxy::access_log::Format;
use support::{Fake, Gateway, post_with};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    fn all(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn one_line_a_request() {
    let lines = Lines::default();
    let writer = lines.clone();
    let usage = r#"{"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let fake = Fake::text(usage);
    let log = AccessLog::start(Format::Json, writer).unwrap();
    let gateway = Gateway::logging(&[&fake], Some(Arc::new(log)));
    let secret = "authorization: Bearer secret-1\r\ncookie: secret-2\r\nx-request-id: r-1\r\n";
    let body = r#"{"model":"m","prompt":"secret-3"}"#;
    gateway.ask(post_with("/v1/completions?key=secret-4", body, secret));
    gateway.ask(support::get("/v1/%0a%1b[2Jx", ""));
    support::eventually("two lines", || lines.all().len() == 2);
    let all = lines.all();
    let fields = &all[0];
    for (name, want) in [
        ("id", serde_json::json!("r-1")),
        ("method", "POST".into()),
        ("host", "gw.test".into()),
        ("path", "/v1/completions".into()),
        ("status", 200.into()),
        ("outcome", "completed".into()),
        ("route", "default/route".into()),
        ("backend", "default/pool".into()),
        ("endpoint", fake.address.to_string().into()),
        ("tries", 1.into()),
        ("request_bytes", body.len().into()),
        ("response_bytes", usage.len().into()),
        ("prompt_tokens", 7.into()),
        ("cached_tokens", 4.into()),
        ("completion_tokens", 3.into()),
    ] {
        assert_eq!(fields[name], want, "{name}");
    }
    assert_eq!(all[1]["status"], 400, "control characters in the path");
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!text.contains("secret"), "{text}");
}
