//! `/api/pools`.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use suimon_picker::{Effective, Endpoint};

use crate::wire::pools::RunningPool;
use crate::wire::publish::Publisher;

/// All pools with their live state.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pools {
    version: &'static str,
    uptime_seconds: f64,
    pools: Vec<Pool>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pool {
    name: Arc<str>,
    /// `inside`, or why there is none.
    picker: &'static str,
    saturation: Option<f64>,
    profiles: Vec<Profile>,
    endpoints: Vec<EndpointState>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    name: String,
    plugins: Vec<ProfilePlugin>,
    scorers: Vec<ProfilePlugin>,
}

#[derive(Debug, Clone, Serialize)]
struct ProfilePlugin {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
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
        pools: pools.iter().map(|pool| state(pool)).collect(),
    }
}

fn state(pool: &RunningPool) -> Pool {
    let now = Instant::now();
    let effective = pool
        .picker
        .as_ref()
        .map(|picker| &picker.engine().effective);
    Pool {
        name: Arc::clone(&pool.name),
        picker: if pool.picker.is_some() {
            "inside"
        } else {
            "unusable"
        },
        saturation: pool.picker.as_ref().map(|picker| picker.saturation()),
        profiles: effective.map(profiles).unwrap_or_default(),
        endpoints: pool
            .ready
            .load()
            .iter()
            .map(|endpoint| endpoint_state(endpoint, now))
            .collect(),
    }
}

fn profiles(effective: &Effective) -> Vec<Profile> {
    let profile = |profile: &suimon_picker::effective::EffectiveProfile| {
        let plugin = |entry: &suimon_picker::effective::EffectiveEntry| ProfilePlugin {
            name: entry.name.clone(),
            weight: entry.weight.as_ref().map(|(weight, _)| *weight),
        };
        let plugins: Vec<_> = profile.plugins.iter().map(plugin).collect();
        let scorers = plugins
            .iter()
            .filter(|plugin| plugin.weight.is_some())
            .cloned()
            .collect();
        Profile {
            name: profile.name.clone(),
            plugins,
            scorers,
        }
    };
    effective.profiles.iter().map(profile).collect()
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
