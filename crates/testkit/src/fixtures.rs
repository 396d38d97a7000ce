//! Requests, responses and metrics pages captured from vLLM 0.32.

use serde::Deserialize;

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
