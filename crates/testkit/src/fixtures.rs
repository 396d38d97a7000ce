//! Requests, responses and metrics pages captured from vLLM 0.32.

use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;

use crate::fake_server::Answer;

/// A request and its response.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// What it is about.
    pub name: String,
    /// Path of the request.
    pub path: String,
    /// Body of the request; absent: a GET, or a body that is no JSON.
    pub request: Option<serde_json::Value>,
    /// Status of the response.
    pub status: u16,
    /// Headers of the response, names in lower case.
    pub headers: serde_json::Map<String, serde_json::Value>,
    /// Body of the response.
    pub body: String,
}

/// The body of the capture whose request is no JSON, without blanks and with.
pub const BROKEN: [&str; 2] = ["{\"model\":\"tiny\",", "{\n  \"model\": \"tiny\",\n"];

/// All cases in the order of their capture.
///
/// # Panics
/// When the file cannot be read.
#[must_use]
pub fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../data/cases.json")).unwrap()
}

/// A metrics page of an idle server that has served nothing.
pub const METRICS_IDLE: &str = include_str!("../data/metrics-idle.txt");
/// A metrics page with requests waiting.
pub const METRICS_BUSY_1: &str = include_str!("../data/metrics-busy-1.txt");
/// A metrics page with more requests waiting.
pub const METRICS_BUSY_3: &str = include_str!("../data/metrics-busy-3.txt");
/// A metrics page after all work is done.
pub const METRICS_AFTER: &str = include_str!("../data/metrics-after.txt");

// === impl Case ===

impl Case {
    /// Body of the request, with blanks or without; empty: there is none.
    #[must_use]
    pub fn body_of_request(&self, pretty: bool) -> String {
        match &self.request {
            Some(request) if pretty => serde_json::to_string_pretty(request).unwrap_or_default(),
            Some(request) => request.to_string(),
            None if self.name == "err-bad-json" => BROKEN[usize::from(pretty)].to_owned(),
            None => String::new(),
        }
    }

    /// The captured answer, its body in pieces whose borders are nowhere in particular.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let streams = self.headers.contains_key("transfer-encoding");
        let mut head = format!("HTTP/1.1 {} Captured\r\n", self.status);
        for (name, value) in &self.headers {
            // Characters of the captured text that were not UTF-8 are gone from the fixture.
            let value = if name == "content-length" {
                self.body.len().to_string()
            } else {
                value.as_str().unwrap_or_default().to_owned()
            };
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let mut answer = Answer::new().send(head + "\r\n");
        for piece in self.body.as_bytes().chunks(97) {
            answer = if streams {
                answer.chunk(piece)
            } else {
                answer.send(piece)
            };
            answer = answer.wait(Duration::from_micros(300));
        }
        if streams { answer.chunk("") } else { answer }
    }
}
