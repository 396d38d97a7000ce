//! State that the endpoints of one replica share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use parking_lot::{Mutex, RwLock};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use crate::clock::unix_seconds;
use crate::config::{Config, FailureType, LoraModule, Mode};
use crate::error::ApiError;
use crate::generate::{Bounds, Plan};
use crate::knobs::Knobs;
use crate::kv_cache::block_hashes;
use crate::latency::load_factor;
use crate::metrics::Metrics;
use crate::request_log::RequestLog;
use crate::scheduler::{Demand, Scheduler};
use crate::sequence::Job;

/// One replica without its sockets.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) address: SocketAddr,
    pub(crate) knobs: Knobs,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(crate) adapters: RwLock<Vec<LoraModule>>,
    pub(crate) metrics: Mutex<Metrics>,
    pub(crate) tally: Tally,
    /// Requests received, if they are recorded.
    pub(crate) log: Option<Mutex<RequestLog>>,
    rng: Mutex<StdRng>,
    start: Instant,
}

/// Sequences by their fate.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) started: AtomicU64,
    pub(crate) finished: AtomicU64,
    pub(crate) aborted: AtomicU64,
}

/// The model a request names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    /// Set when `name` is an adapter.
    pub(crate) lora: Option<String>,
}

/// A tokenized prompt, and what echo mode makes of it.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) ids: Vec<u32>,
    /// Text to echo; the ids themselves when absent.
    pub(crate) echo: Option<String>,
}

/// How a request wants its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sampling {
    pub(crate) max_tokens: Option<usize>,
    pub(crate) ignore_eos: bool,
    pub(crate) cache_salt: String,
}

/// Kinds drawn from when no list is configured.
const ALL_FAILURES: &[FailureType] = &[
    FailureType::RateLimit,
    FailureType::InvalidApiKey,
    FailureType::ContextLength,
    FailureType::ServerError,
    FailureType::InvalidRequest,
    FailureType::ModelNotFound,
];

// === impl Engine ===

impl Engine {
    pub(crate) fn new(config: Config, address: SocketAddr, record: bool) -> Self {
        let seed = config.seed.unwrap_or_else(|| rand::rng().random());
        Self {
            address,
            knobs: Knobs::new(config.tuning.clone()),
            scheduler: Arc::new(Scheduler::new(&config)),
            adapters: RwLock::new(config.lora_modules.clone()),
            metrics: Mutex::new(Metrics::new(unix_seconds())),
            tally: Tally::default(),
            log: record.then(Mutex::default),
            rng: Mutex::new(StdRng::seed_from_u64(seed)),
            start: Instant::now(),
            config,
        }
    }

    /// Whether the start-up time is over.
    pub(crate) fn is_ready(&self) -> bool {
        self.start.elapsed() >= self.config.startup_duration.duration()
    }

    /// Resolves the `model` of a request; none means the base model, as in vLLM.
    pub(crate) fn target(&self, name: Option<&str>) -> Result<Target, ApiError> {
        let name = name.unwrap_or_else(|| self.config.primary_name());
        if self.config.serves_base(name) {
            return Ok(Target {
                name: name.to_owned(),
                lora: None,
            });
        }
        if self
            .adapters
            .read()
            .iter()
            .any(|adapter| adapter.name == name)
        {
            return Ok(Target {
                name: name.to_owned(),
                lora: Some(name.to_owned()),
            });
        }
        let aliases = if self.config.served_model_name.is_empty() {
            self.config.model.clone()
        } else {
            self.config.served_model_name.join(", ")
        };
        Err(ApiError::unknown_model(name, &aliases))
    }

    /// Decides whether an inference request is to fail: by its header, the knob or a draw.
    pub(crate) fn fault(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if let Some(value) = headers.get("x-return-error") {
            // An interim 1xx is no answer, so it cannot be asked for.
            let code = value
                .to_str()
                .ok()
                .and_then(|text| text.trim().parse::<u16>().ok());
            let code = code.filter(|code| (200..=599).contains(code));
            return Err(
                match code.and_then(|code| StatusCode::from_u16(code).ok()) {
                    Some(status) => ApiError::with_status(status),
                    None => ApiError::bad_request(
                        "header `X-Return-Error` is no HTTP status; accepted: 200 to 599",
                    ),
                },
            );
        }
        if let Some(status) = self.knobs.failure() {
            return Err(ApiError::with_status(status));
        }
        let tuning = self.knobs.tuning();
        let mut rng = self.rng.lock();
        if rng.random_range(0..100) >= tuning.failure_injection_rate {
            return Ok(());
        }
        let kinds: &[FailureType] = if tuning.failure_types.is_empty() {
            ALL_FAILURES
        } else {
            &tuning.failure_types
        };
        kinds
            .choose(&mut *rng)
            .map_or(Ok(()), |kind| Err(ApiError::injected(*kind)))
    }

    /// Checks a prompt against the context window and plans its output.
    pub(crate) fn job(
        &self,
        target: &Target,
        prompt: &Prompt,
        sampling: &Sampling,
    ) -> Result<Job, ApiError> {
        let len = prompt.ids.len();
        let limit = self.config.max_model_len;
        if len >= limit {
            return Err(ApiError::too_long(limit));
        }
        match sampling.max_tokens {
            Some(0) => {
                return Err(ApiError::bad_request(
                    "max_tokens must be at least 1, got 0.",
                ));
            }
            Some(max) if max > limit - len => {
                return Err(ApiError::max_tokens_too_large(max, limit, len));
            }
            _ => {}
        }
        let mut rng = self.fork_rng();
        let plan = match (self.config.mode, &prompt.echo) {
            (Mode::Echo, Some(text)) => Plan::echo(text),
            (Mode::Echo, None) => Plan::echo_ids(&prompt.ids),
            (Mode::Random, _) => {
                let bounds = Bounds {
                    max_tokens: sampling.max_tokens,
                    room: limit - len,
                    ignore_eos: sampling.ignore_eos,
                };
                Plan::random(bounds, &mut rng)
            }
        };
        Ok(Job {
            demand: self.demand(target, &prompt.ids, &sampling.cache_salt),
            prompt_tokens: len,
            max_tokens: sampling.max_tokens,
            plan,
            rng,
        })
    }

    /// What a prompt needs of the scheduler.
    pub(crate) fn demand(&self, target: &Target, ids: &[u32], salt: &str) -> Demand {
        let blocks = if self.config.enable_kvcache {
            // All served names are one model to the cache.
            let model = target.lora.as_deref().unwrap_or(&self.config.model);
            block_hashes(model, salt, ids, self.config.block_size)
        } else {
            Vec::new()
        };
        Demand {
            lora: target.lora.clone(),
            blocks,
        }
    }

    /// A generator of its own for one sequence, so that concurrent ones do not share draws.
    pub(crate) fn fork_rng(&self) -> StdRng {
        StdRng::seed_from_u64(self.rng.lock().random())
    }

    /// 16 random hexadecimal digits.
    pub(crate) fn random_id(&self) -> String {
        format!("{:016x}", self.rng.lock().random::<u64>())
    }

    /// Time to the first token under the load of now.
    pub(crate) fn first_token(&self, prompt: usize, cached: usize, rng: &mut StdRng) -> Duration {
        let tuning = self.knobs.tuning();
        tuning.first_token(
            prompt,
            cached,
            self.load(tuning.time_factor_under_load),
            rng,
        )
    }

    /// Time to the next token under the load of now.
    pub(crate) fn inter_token(&self, rng: &mut StdRng) -> Duration {
        let tuning = self.knobs.tuning();
        tuning.inter_token(self.load(tuning.time_factor_under_load), rng)
    }

    /// The metrics page; `only` limits it to samples of these names.
    pub(crate) fn metrics_page(&self, only: &[String]) -> String {
        let load = self.knobs.told_load(self.scheduler.load());
        let loras = self.scheduler.lora_sets();
        self.metrics.lock().page(&self.config, &load, &loras, only)
    }

    fn load(&self, factor: f64) -> f64 {
        load_factor(factor, self.scheduler.running(), self.config.max_num_seqs)
    }
}

// === impl Tally ===

impl Tally {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
