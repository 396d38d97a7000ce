//! `/api/pools`.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use suimon_picker::engine::Outline;
use suimon_picker::{Endpoint, Engine};

use crate::wire::pools::RunningPool;
use crate::wire::publish::Publisher;

/// All pools with their live state.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pools {
    version: &'static str,
    uptime_seconds: f64,
    /// Where clients reach the gateway, for the line to try on an empty page.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    pools: Vec<Pool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    name: Arc<str>,
    /// Where the picker's configuration stands, or why there is none.
    picker: Arc<str>,
    /// What happens when the picker fails.
    failure_mode: &'static str,
    saturation: Option<f64>,
    profiles: Vec<Profile>,
    endpoints: Vec<EndpointState>,
}

#[derive(Debug, Serialize)]
struct Profile {
    name: Arc<str>,
    filters: Vec<Arc<str>>,
    scorers: Vec<Scorer>,
    picker: Arc<str>,
}

#[derive(Debug, Serialize)]
struct Scorer {
    name: Arc<str>,
    weight: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointState {
    id: Arc<str>,
    address: Arc<str>,
    engine: Option<Arc<str>>,
    /// `fresh`, `stale` or `unknown`.
    state: &'static str,
    age_ms: Option<f64>,
    waiting: Option<u32>,
    running: Option<u32>,
    kv_usage: Option<f32>,
    in_flight_requests: u32,
    in_flight_tokens: u64,
    prefix_blocks: u32,
    lora_active: Vec<Box<str>>,
    lora_waiting: Vec<Box<str>>,
    lora_max: Option<u32>,
    /// Requests ever sent there.
    requests: u64,
}

pub(super) fn pools(publisher: Option<&Publisher>, started: Instant) -> Pools {
    let pools = publisher.map(Publisher::pools).unwrap_or_default();
    Pools {
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: started.elapsed().as_secs_f64(),
        gateway: publisher
            .and_then(Publisher::reach)
            .map(|address| format!("http://{address}")),
        pools: pools.iter().map(|pool| state(pool)).collect(),
    }
}

fn state(pool: &RunningPool) -> Pool {
    let now = Instant::now();
    let engine = pool.picker.as_ref().map(|picker| picker.engine());
    let outline = engine.map(Engine::outline).unwrap_or_default();
    Pool {
        name: Arc::clone(&pool.name),
        picker: Arc::clone(&pool.source),
        failure_mode: if pool.fail_open() {
            "FailOpen"
        } else {
            "FailClose"
        },
        saturation: pool.picker.as_ref().map(|picker| picker.saturation()),
        profiles: outline.into_iter().map(profile).collect(),
        endpoints: pool
            .ready
            .load()
            .iter()
            .map(|endpoint| endpoint_state(endpoint, now))
            .collect(),
    }
}

fn profile(outline: Outline) -> Profile {
    let scorer = |(name, weight)| Scorer { name, weight };
    Profile {
        name: outline.name,
        filters: outline.filters,
        scorers: outline.scorers.into_iter().map(scorer).collect(),
        picker: outline.picker,
    }
}

fn endpoint_state(endpoint: &Endpoint, now: Instant) -> EndpointState {
    let (metrics, load) = (endpoint.metrics(), endpoint.load(now));
    let known = metrics.updated.is_some();
    EndpointState {
        id: Arc::clone(endpoint.id()),
        address: Arc::clone(endpoint.authority()),
        engine: metrics.engine.clone(),
        state: match (known, load.fresh) {
            (false, _) => "unknown",
            (true, false) => "stale",
            (true, true) => "fresh",
        },
        age_ms: known.then_some(load.age.as_secs_f64() * 1e3),
        waiting: known.then_some(metrics.waiting),
        running: known.then_some(metrics.running),
        kv_usage: known.then_some(metrics.kv_usage),
        in_flight_requests: endpoint.in_flight_requests(),
        in_flight_tokens: endpoint.in_flight_tokens(),
        prefix_blocks: endpoint.prefix_blocks(),
        lora_active: metrics.lora.active.clone(),
        lora_waiting: metrics.lora.waiting.clone(),
        lora_max: (metrics.lora.max > 0).then_some(metrics.lora.max),
        requests: endpoint.total_requests(),
    }
}
