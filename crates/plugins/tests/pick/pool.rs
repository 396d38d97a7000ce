//! A pool whose clock and metrics the test sets.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use parking_lot::Mutex;
use serde_json::{Value, json};
use suimon_api::parse_picker_config;
use suimon_llm::Fields;
use suimon_picker::rewrite::Rule;
use suimon_picker::{
    Body, Clock, Decision, Endpoint, EndpointSpec, Engine, Metrics, PickError, PickRequest,
    PickerParts, PoolPicker, Recorder, Registry, Resources, RewriteTable, Subset, SystemClock,
    Unreadable,
};

/// What the peers' guides start from.
pub(crate) const STANDARD: &str = include_str!("../data/standard.yaml");

/// A pool whose endpoints are numbered from 0.
pub(crate) struct Pool {
    pub(crate) picker: PoolPicker,
    pub(crate) recorder: Arc<Recorder>,
    clock: Arc<TestClock>,
}

/// Stands still until it is moved.
struct TestClock {
    start: Instant,
    ahead: Mutex<Duration>,
}

/// A rewrite rule: the model that it is for (none: all), and its targets with weights.
pub(crate) type RuleOf<'a> = (Option<&'a str>, &'a [(&'a str, u32)]);

/// A request to be.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    path: String,
    body: Option<Bytes>,
    headers: HeaderMap,
    subset: Option<Subset>,
    unreadable: Unreadable,
}

/// A configuration of one profile with one plugin.
pub(crate) fn alone(kind: &str) -> String {
    format!("plugins: [{{type: {kind}}}]")
}

pub(crate) fn engine(yaml: &str) -> Engine {
    let config = parse_picker_config(yaml).unwrap();
    let registry =
        Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]).unwrap();
    suimon_picker::build(&config, &registry, &Resources::default()).unwrap()
}

/// Where the endpoint of this number is.
pub(crate) fn address(index: usize) -> SocketAddr {
    ([10, 0, 0, u8::try_from(index).unwrap()], 8000).into()
}

fn spec(index: usize) -> EndpointSpec {
    EndpointSpec {
        id: Arc::from(format!("test/{index:03}")),
        address: address(index),
        labels: BTreeMap::new(),
    }
}

// === impl Pool ===

impl Pool {
    /// A pool of endpoints that were never scraped.
    pub(crate) fn new(yaml: &str, endpoints: usize) -> Self {
        Self::seeded(yaml, endpoints, 7)
    }

    pub(crate) fn seeded(yaml: &str, endpoints: usize, seed: u64) -> Self {
        Self::recorded(yaml, endpoints, seed, 64)
    }

    pub(crate) fn recorded(yaml: &str, endpoints: usize, seed: u64, records: usize) -> Self {
        let recorder = Arc::new(Recorder::new(records));
        let clock = Arc::new(TestClock {
            start: SystemClock.now(),
            ahead: Mutex::default(),
        });
        let parts = PickerParts {
            name: Arc::from("test/pool"),
            engine: engine(yaml),
            recorder: Arc::clone(&recorder),
            seed,
        };
        let time: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let pool = Self {
            picker: PoolPicker::new(parts, time),
            recorder,
            clock,
        };
        pool.members(0..endpoints);
        pool
    }

    /// The same, each endpoint scraped just now and idle.
    pub(crate) fn idle(yaml: &str, endpoints: usize) -> Self {
        let pool = Self::new(yaml, endpoints);
        (0..endpoints).for_each(|index| pool.scrape(index, Metrics::default()));
        pool
    }

    pub(crate) fn members(&self, indexes: impl IntoIterator<Item = usize>) {
        self.picker
            .set_members(indexes.into_iter().map(spec).collect());
    }

    pub(crate) fn endpoint(&self, index: usize) -> Arc<Endpoint> {
        let pool = self.picker.pool();
        let mut endpoints = pool.endpoints.iter();
        let found = endpoints.find(|endpoint| endpoint.address() == address(index));
        Arc::clone(found.unwrap())
    }

    /// A scrape that begins and ends now.
    pub(crate) fn scrape(&self, index: usize, metrics: Metrics) {
        let endpoint = self.endpoint(index);
        endpoint.begin_scrape();
        endpoint.finish_scrape(Metrics {
            updated: Some(self.clock.now()),
            ..metrics
        });
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    pub(crate) fn wait(&self, time: Duration) {
        *self.clock.ahead.lock() += time;
    }

    pub(crate) fn objectives(&self, objectives: &[(&str, i32)]) {
        let objectives: HashMap<Arc<str>, i32> = objectives
            .iter()
            .map(|&(name, priority)| (Arc::from(name), priority))
            .collect();
        self.picker
            .set_policies(objectives, RewriteTable::default());
    }

    pub(crate) fn rewrites(&self, rules: &[RuleOf<'_>]) {
        let rule = |(model, targets): &RuleOf<'_>| {
            let targets = targets
                .iter()
                .map(|&(name, weight)| (Arc::from(name), Some(weight)));
            let rule = Rule {
                rewrite: Arc::from("test"),
                targets: targets.collect(),
            };
            let models: Vec<Arc<str>> = model.iter().map(|&model| Arc::from(model)).collect();
            (models, rule)
        };
        let table = RewriteTable::new(rules.iter().map(rule));
        self.picker.set_policies(HashMap::new(), table);
    }

    pub(crate) fn pick(&self, ask: &Ask) -> Result<Decision, PickError> {
        let scanned = ask.body.clone().map(Fields::scan);
        let body = match &scanned {
            None => Body::Absent,
            Some(Ok(fields)) => Body::Fields(fields),
            Some(Err(error)) => Body::Invalid(error),
        };
        let bytes = ask.body.clone().unwrap_or_default();
        self.picker.pick_now(&PickRequest {
            id: "request-1",
            route: "test/route",
            method: &http::Method::POST,
            query: None,
            bytes: &bytes,
            path: &ask.path,
            headers: &ask.headers,
            body,
            unreadable: ask.unreadable,
            received: self.clock.now(),
            subset: ask.subset.as_ref(),
        })
    }

    /// Number of the endpoint that the request goes to; it ends at once.
    pub(crate) fn goes_to(&self, ask: &Ask) -> usize {
        index(&self.pick(ask).unwrap())
    }

    /// Scores of the first scorer, one for each endpoint that the request may go to.
    pub(crate) fn scores(&self, ask: &Ask) -> Vec<f32> {
        let record = self.pick(ask).unwrap().record.unwrap();
        record.profiles[0].scorers[0].scores.clone()
    }
}

/// Number of the endpoint of a decision.
pub(crate) fn index(decision: &Decision) -> usize {
    let SocketAddr::V4(address) = decision.endpoints[0].address() else {
        panic!("not an address of this pool")
    };
    usize::from(address.ip().octets()[3])
}

// === impl TestClock ===

impl Clock for TestClock {
    fn now(&self) -> Instant {
        self.start + *self.ahead.lock()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + *self.ahead.lock()
    }
}

// === impl Ask ===

impl Ask {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            body: None,
            headers: HeaderMap::new(),
            subset: None,
            unreadable: Unreadable::Pass,
        }
    }

    pub(crate) fn raw(path: &str, body: &str) -> Self {
        Self::bytes(path, body.as_bytes())
    }

    pub(crate) fn bytes(path: &str, body: &[u8]) -> Self {
        Self {
            body: Some(Bytes::copy_from_slice(body)),
            ..Self::get(path)
        }
    }

    pub(crate) fn json(path: &str, body: &Value) -> Self {
        Self::raw(path, &body.to_string())
    }

    /// A completion of one prompt by the model `m`.
    pub(crate) fn prompt(prompt: &str) -> Self {
        Self::json("/v1/completions", &json!({"model": "m", "prompt": prompt}))
    }

    /// A conversation with the model `m`.
    pub(crate) fn chat(turns: &[String]) -> Self {
        let role = |index: usize| {
            if index.is_multiple_of(2) {
                "user"
            } else {
                "assistant"
            }
        };
        let turns = turns.iter().enumerate();
        let messages: Vec<Value> = turns
            .map(|(index, turn)| json!({"role": role(index), "content": turn}))
            .collect();
        let body = json!({"model": "m", "messages": messages});
        Self::json("/v1/chat/completions", &body)
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).unwrap();
        self.headers.insert(HeaderName::from_static(name), value);
        self
    }

    /// From a front door that refuses what it cannot read.
    pub(crate) fn strict(mut self) -> Self {
        self.unreadable = Unreadable::Refuse;
        self
    }

    /// Allows only the endpoints of these numbers.
    pub(crate) fn only(mut self, indexes: &[usize]) -> Self {
        self.subset = Some(indexes.iter().copied().map(address).collect());
        self
    }
}
