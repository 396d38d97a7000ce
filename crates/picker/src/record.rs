//! What the admin API shows of a decision: who scored what, and why it went where it went.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use serde::Serialize;

/// One decision, kept for a while. The outcome is filled in when the request ends.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Id of the request, as logged and as sent to the client.
    pub request_id: Box<str>,
    /// When the decision was made; seconds since 1970.
    #[serde(serialize_with = "unix_seconds")]
    pub time: SystemTime,
    /// `namespace/name` of the route.
    pub route: Box<str>,
    /// `namespace/name` of the pool.
    pub pool: Arc<str>,
    /// Model that the client named.
    pub model: Arc<str>,
    /// Model that the endpoint was asked for.
    pub target_model: Arc<str>,
    /// Priority of the request's objective.
    pub priority: i32,
    /// Endpoints that could have been picked.
    pub candidates: Vec<Candidate>,
    /// Profiles that ran, in order.
    pub profiles: Vec<ProfileRecord>,
    /// Time that the pick took, in microseconds.
    pub pick_micros: u64,
    /// How the request ended; absent while it runs.
    #[serde(skip_serializing_if = "no_outcome", serialize_with = "outcome")]
    pub outcome: OnceLock<Outcome>,
}

/// One endpoint as it looked to the pick.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Id of the endpoint.
    pub endpoint: Arc<str>,
    /// `ip:port`.
    pub address: Arc<str>,
    /// Waiting requests, those sent since the last scrape included; absent: unknown.
    pub waiting: Option<u32>,
    /// Running requests, those sent since the last scrape included; absent: unknown.
    pub running: Option<u32>,
    /// Share of the KV cache in use; absent: unknown.
    pub kv_usage: Option<f32>,
    /// Requests of ours in flight.
    pub in_flight: u32,
}

/// One profile's run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileRecord {
    /// Name of the profile.
    pub name: Arc<str>,
    /// Places in [`Record::candidates`] that the filters left, ascending.
    pub kept: Vec<u32>,
    /// Filters and how many endpoints each left.
    pub filters: Vec<FilterRecord>,
    /// Scorers in the order of the configuration.
    pub scorers: Vec<ScorerRecord>,
    /// Weighted sum for each of `kept`.
    pub totals: Vec<f32>,
    /// Name of the picker.
    pub picker: Arc<str>,
    /// Places in [`Record::candidates`] that the picker chose, best first.
    pub chosen: Vec<u32>,
}

/// One filter's effect.
#[derive(Debug, Serialize)]
pub struct FilterRecord {
    /// Name of the plugin instance.
    pub name: Arc<str>,
    /// Endpoints left after it.
    pub left: usize,
}

/// One scorer's scores.
#[derive(Debug, Serialize)]
pub struct ScorerRecord {
    /// Name of the plugin instance.
    pub name: Arc<str>,
    /// Its weight.
    pub weight: f64,
    /// Score for each of [`ProfileRecord::kept`], 0..=1.
    pub scores: Vec<f32>,
}

/// How a request ended.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// Status that the client saw; 0: the client left before.
    pub status: u16,
    /// Endpoint that answered, `ip:port`; absent: none.
    pub served: Option<Arc<str>>,
    /// `completed`, `client-gone`, or the label of the reason.
    pub end: &'static str,
    /// Milliseconds from the request's head to the first byte of the response's body.
    pub first_byte_ms: Option<f64>,
    /// Milliseconds from the request's head to the end.
    pub duration_ms: f64,
    /// Prompt tokens by the engine's own count.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens that the engine found in its cache.
    pub cached_tokens: Option<u64>,
    /// Tokens generated.
    pub completion_tokens: Option<u64>,
}

fn no_outcome(outcome: &OnceLock<Outcome>) -> bool {
    outcome.get().is_none()
}

fn outcome<S: serde::Serializer>(
    outcome: &OnceLock<Outcome>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    outcome.get().serialize(serializer)
}

fn unix_seconds<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    serializer.serialize_f64(since.as_secs_f64())
}
