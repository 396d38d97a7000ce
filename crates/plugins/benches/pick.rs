//! Time of one pick, and of what reads a long body for it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use criterion::{Criterion, Throughput};
use http::HeaderMap;
use suimon_kvindex::{Chain, Hasher};
use suimon_llm::{ApiKind, Fields, InferenceRequest, Prompt};
use suimon_picker::{
    Body, Clock as _, Decision, Endpoint, EndpointSpec, Metrics, PickRequest, PickerParts,
    PoolPicker, Recorder, Registry, Resources, Subset, SystemClock, Unreadable,
};

const STANDARD: &str = include_str!("../tests/data/standard.yaml");

/// Turns of the conversation, a kilobyte each: 10,000 tokens of four bytes.
const TURNS: usize = 40;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    picks(&mut criterion);
    body(&mut criterion);
    criterion.final_summary();
}

fn picks(criterion: &mut Criterion) {
    let (fields, headers) = (scan(&conversation(TURNS)), HeaderMap::new());
    let mut group = criterion.benchmark_group("pick/standard");
    for endpoints in [8_u16, 100, 1000] {
        let picker = warm(endpoints);
        group.bench_function(endpoints.to_string(), |bencher| {
            bencher.iter(|| pick(&picker, black_box(&fields), &headers, None));
        });
    }
    group.finish();
}

fn body(criterion: &mut Criterion) {
    let line = "abcdefgh i".repeat(3) + "abcdefgh";
    let text = format!("{line}\\n{line}\\\"").repeat(400_000 / 80);
    let body = Bytes::from(chat([text]));
    let hasher = Hasher::new(64, 2048);
    let mut hashes = Vec::with_capacity(2048);
    let mut group = criterion.benchmark_group("body");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("scan_and_hash/400k", |bencher| {
        bencher.iter(|| {
            let fields = scan(black_box(&body));
            hashes.clear();
            hash(&fields, &hasher, &mut hashes);
            hashes.len()
        });
    });
    group.finish();
}

/// What the prefix producer does with a body.
fn hash(fields: &Fields, hasher: &Hasher, hashes: &mut Vec<u64>) {
    let request = InferenceRequest::parse(ApiKind::ChatCompletions, fields);
    let Ok(request) = request else {
        unreachable!("the body is a chat")
    };
    let chain = Chain::start("m", "", 7);
    for prompt in &request.prompts {
        match prompt {
            Prompt::Text(ranges) => {
                let pieces = ranges.iter().map(|range| &fields.bytes()[range.clone()]);
                hasher.text(chain, pieces, hashes);
            }
            Prompt::Tokens(ids) => hasher.tokens(chain, ids, hashes),
        }
    }
}

/// A pool in which half of the endpoints hold a part of the conversation, each another one.
fn warm(endpoints: u16) -> PoolPicker {
    let picker = picker(endpoints);
    let headers = HeaderMap::new();
    let parts: Vec<Fields> = (1..TURNS).map(|turns| scan(&conversation(turns))).collect();
    let pool = picker.pool();
    for (endpoint, part) in pool.endpoints.iter().step_by(2).zip(parts.iter().cycle()) {
        pick(&picker, part, &headers, Some(endpoint));
    }
    picker
}

/// A pool under some load, scraped at a time that does not become old while the benchmark runs.
fn picker(endpoints: u16) -> PoolPicker {
    let config = suimon_api::parse_picker_config(STANDARD);
    let registry = Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]);
    let (Ok(config), Ok(registry)) = (config, registry) else {
        unreachable!("the configuration and the catalogues are sound")
    };
    let Ok(engine) = suimon_picker::build(&config, &registry, &Resources::default()) else {
        unreachable!("the standard configuration builds")
    };
    let parts = PickerParts {
        name: Arc::from("bench/pool"),
        engine,
        recorder: Arc::new(Recorder::new(256)),
        seed: 1,
    };
    let picker = PoolPicker::new(parts, Arc::new(SystemClock));
    let spec = |port: u16| EndpointSpec {
        id: Arc::from(format!("bench/pod-{port:04}-rank-0")),
        address: ([127, 0, 0, 1], port).into(),
        labels: BTreeMap::new(),
    };
    let pool = picker.set_members((1..=endpoints).map(spec).collect());
    let updated = SystemClock.now() + Duration::from_secs(24 * 3600);
    for (number, endpoint) in (0_u32..).zip(pool.endpoints.iter()) {
        endpoint.begin_scrape();
        endpoint.finish_scrape(Metrics {
            updated: Some(updated),
            engine: Some(Arc::from("vllm")),
            waiting: number % 5,
            running: number % 32,
            kv_usage: f32::from(u8::try_from(number % 10).unwrap_or(0)) / 10.0,
            block_size: 16,
            num_blocks: 27_000,
            ..Metrics::default()
        });
    }
    picker
}

fn pick(
    picker: &PoolPicker,
    fields: &Fields,
    headers: &HeaderMap,
    only: Option<&Endpoint>,
) -> Option<Decision> {
    let subset = only.map(|endpoint| Subset::from_iter([endpoint.address()]));
    let request = PickRequest {
        id: "8e5f7f6c-8f0b-4a44-8d3e-0a8e7e2a5f10",
        route: "bench/route",
        method: &http::Method::POST,
        query: None,
        bytes: &Bytes::new(),
        path: "/v1/chat/completions",
        headers,
        body: Body::Fields(fields),
        unreadable: Unreadable::Pass,
        received: SystemClock.now(),
        subset: subset.as_ref(),
    };
    let decision = picker.pick_now(&request);
    debug_assert!(decision.is_ok());
    decision.ok()
}

fn scan(body: &Bytes) -> Fields {
    let Ok(fields) = Fields::scan(body.clone()) else {
        unreachable!("the body is an object")
    };
    fields
}

/// A conversation of `turns` turns of a kilobyte.
fn conversation(turns: usize) -> Bytes {
    let text = |turn: usize| format!("turn {turn:04} ").repeat(97);
    Bytes::from(chat((0..turns).map(text)))
}

fn chat(contents: impl IntoIterator<Item = String>) -> String {
    let messages: Vec<String> = contents
        .into_iter()
        .map(|content| format!(r#"{{"role":"user","content":"{content}"}}"#))
        .collect();
    let messages = messages.join(",");
    format!(r#"{{"model":"m","stream":true,"messages":[{messages}],"max_tokens":8}}"#)
}
