//! Series of requests, by model and priority.

use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::RwLock;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::{PEER, buckets};

/// What tells requests apart in the series. Values must be bounded by the caller.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// Model that the client named.
    pub model: Arc<str>,
    /// Model that the endpoint was asked for.
    pub target_model: Arc<str>,
    /// Priority of the request's objective.
    pub priority: i32,
}

/// How one request ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ended {
    /// Label of the reason, if the request failed.
    pub error: Option<&'static str>,
    /// From the head to the end.
    pub duration: Duration,
    /// From the head to the response's first body byte.
    pub first_byte: Option<Duration>,
    /// Whether the response was an event stream.
    pub streamed: bool,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the response's body.
    pub response_bytes: u64,
    /// Prompt tokens.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens found in the cache.
    pub cached_tokens: Option<u64>,
    /// Tokens generated.
    pub completion_tokens: Option<u64>,
}

/// The series of one key.
#[derive(Debug)]
pub struct RequestSeries {
    labels: Labels,
    total: Counter,
    errors: Family<ErrorLabels, Counter>,
    duration: Histogram,
    first_byte: [Histogram; 2],
    per_token: Histogram,
    stream_token: Histogram,
    request_bytes: Histogram,
    response_bytes: Histogram,
    prompt_tokens: Histogram,
    cached_tokens: Histogram,
    completion_tokens: Histogram,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    model_name: Arc<str>,
    target_model_name: Arc<str>,
    fairness_id: &'static str,
    priority: i32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    model_name: Arc<str>,
    target_model_name: Arc<str>,
    fairness_id: &'static str,
    priority: i32,
    error_code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FirstByteLabels {
    model_name: Arc<str>,
    target_model_name: Arc<str>,
    fairness_id: &'static str,
    priority: i32,
    streaming: bool,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// The families, and the series that were made of them: one look-up a request instead of twelve.
#[derive(Debug)]
pub(super) struct RequestFamilies {
    total: Family<Labels, Counter>,
    errors: Family<ErrorLabels, Counter>,
    duration: Histograms<Labels>,
    first_byte: Histograms<FirstByteLabels>,
    per_token: Histograms<Labels>,
    stream_token: Histograms<Labels>,
    request_bytes: Histograms<Labels>,
    response_bytes: Histograms<Labels>,
    prompt_tokens: Histograms<Labels>,
    cached_tokens: Histograms<Labels>,
    completion_tokens: Histograms<Labels>,
    made: RwLock<HashMap<RequestKey, Arc<RequestSeries>>>,
}

/// The flow of requests while no flow control tells flows apart: the peers' name for it.
const DEFAULT_FLOW: &str = "default-flow";

// === impl RequestFamilies ===

impl RequestFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        fn family<M: Clone + prometheus_client::registry::Metric>(
            registry: &mut Registry,
            name: &str,
            help: &str,
            metric: M,
        ) -> M {
            super::register(registry, PEER, name, help, metric)
        }
        fn of<L: Clone + Eq + std::hash::Hash>(make: fn() -> Histogram) -> Histograms<L> {
            Family::new_with_constructor(make)
        }
        let r = registry;
        Self {
            total: family(
                r,
                "request",
                "requests that got an endpoint",
                Family::default(),
            ),
            errors: family(
                r,
                "request_error",
                "requests that failed, by reason",
                Family::default(),
            ),
            duration: family(
                r,
                "request_duration_seconds",
                "from the head of a request to its end",
                of(latency),
            ),
            first_byte: family(
                r,
                "request_ttft_seconds",
                "from the head of a request to the response's first byte",
                of(first_byte),
            ),
            per_token: family(
                r,
                "request_ntpot_seconds",
                "duration of a request a generated token",
                of(per_token),
            ),
            stream_token: family(
                r,
                "request_streaming_tpot_seconds",
                "time a generated token after the first, of streams",
                of(stream_token),
            ),
            request_bytes: family(
                r,
                "request_size_bytes",
                "size of request bodies",
                of(request_bytes),
            ),
            response_bytes: family(
                r,
                "response_size_bytes",
                "size of response bodies",
                of(tokens),
            ),
            prompt_tokens: family(
                r,
                "request_input_tokens",
                "prompt tokens by the engine's count",
                of(tokens),
            ),
            cached_tokens: family(
                r,
                "request_cached_tokens",
                "prompt tokens found in the engine's cache",
                of(tokens),
            ),
            completion_tokens: family(r, "request_output_tokens", "tokens generated", of(tokens)),
            made: RwLock::default(),
        }
    }

    pub(super) fn series(&self, key: &RequestKey) -> Arc<RequestSeries> {
        if let Some(series) = self.made.read().get(key) {
            return Arc::clone(series);
        }
        let series = Arc::new(self.make(key));
        Arc::clone(self.made.write().entry(key.clone()).or_insert(series))
    }

    fn make(&self, key: &RequestKey) -> RequestSeries {
        let labels = Labels {
            model_name: Arc::clone(&key.model),
            target_model_name: Arc::clone(&key.target_model),
            fairness_id: DEFAULT_FLOW,
            priority: key.priority,
        };
        let first_byte = |streaming| {
            self.first_byte.get_or_create_owned(&FirstByteLabels {
                model_name: Arc::clone(&key.model),
                target_model_name: Arc::clone(&key.target_model),
                fairness_id: DEFAULT_FLOW,
                priority: key.priority,
                streaming,
            })
        };
        RequestSeries {
            total: self.total.get_or_create_owned(&labels),
            errors: self.errors.clone(),
            duration: self.duration.get_or_create_owned(&labels),
            first_byte: [first_byte(false), first_byte(true)],
            per_token: self.per_token.get_or_create_owned(&labels),
            stream_token: self.stream_token.get_or_create_owned(&labels),
            request_bytes: self.request_bytes.get_or_create_owned(&labels),
            response_bytes: self.response_bytes.get_or_create_owned(&labels),
            prompt_tokens: self.prompt_tokens.get_or_create_owned(&labels),
            cached_tokens: self.cached_tokens.get_or_create_owned(&labels),
            completion_tokens: self.completion_tokens.get_or_create_owned(&labels),
            labels,
        }
    }
}

fn latency() -> Histogram {
    Histogram::new(buckets::LATENCY.iter().copied())
}

fn first_byte() -> Histogram {
    Histogram::new(buckets::FIRST_BYTE.iter().copied())
}

fn per_token() -> Histogram {
    Histogram::new(buckets::PER_TOKEN.iter().copied())
}

fn stream_token() -> Histogram {
    Histogram::new(buckets::STREAM_TOKEN.iter().copied())
}

fn request_bytes() -> Histogram {
    Histogram::new(buckets::REQUEST_BYTES.iter().copied())
}

fn tokens() -> Histogram {
    Histogram::new(buckets::TOKENS.iter().copied())
}

// === impl RequestSeries ===

impl RequestSeries {
    /// Counts one request.
    #[expect(clippy::cast_precision_loss, reason = "histograms are of real numbers")]
    pub fn ended(&self, ended: &Ended) {
        self.total.inc();
        if let Some(error_code) = ended.error {
            let Labels {
                model_name,
                target_model_name,
                fairness_id,
                priority,
            } = self.labels.clone();
            let labels = ErrorLabels {
                model_name,
                target_model_name,
                fairness_id,
                priority,
                error_code,
            };
            self.errors.get_or_create(&labels).inc();
        }
        self.duration.observe(ended.duration.as_secs_f64());
        self.request_bytes.observe(ended.request_bytes as f64);
        self.response_bytes.observe(ended.response_bytes as f64);
        if let Some(first) = ended.first_byte {
            let [whole, streamed] = &self.first_byte;
            let histogram = if ended.streamed { streamed } else { whole };
            histogram.observe(first.as_secs_f64());
        }
        let positive = |tokens: Option<u64>| tokens.filter(|&tokens| tokens > 0);
        if let Some(tokens) = positive(ended.prompt_tokens) {
            self.prompt_tokens.observe(tokens as f64);
        }
        if let Some(tokens) = ended.cached_tokens {
            self.cached_tokens.observe(tokens as f64);
        }
        if let Some(tokens) = positive(ended.completion_tokens) {
            self.completion_tokens.observe(tokens as f64);
            self.per_token
                .observe(ended.duration.as_secs_f64() / tokens as f64);
            if let (true, Some(first), 2..) = (ended.streamed, ended.first_byte, tokens) {
                let after = ended.duration.saturating_sub(first).as_secs_f64();
                self.stream_token.observe(after / (tokens - 1) as f64);
            }
        }
    }
}
