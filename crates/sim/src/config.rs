//! What a replica simulates. One struct serves the command line, the library and
//! `/admin/config`: a flag is the field name in kebab case.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use clap::{ArgAction, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::delay::Delay;

/// Everything one simulated replica is started with.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Address to listen on
    #[arg(long, default_value_t = Config::default().address)]
    pub address: IpAddr,
    /// Port to listen on; 0 takes any free port
    #[arg(long, default_value_t = Config::default().port)]
    pub port: u16,
    /// Name of the base model
    #[arg(long, default_value_t = Config::default().model)]
    pub model: String,
    /// Names under which the base model is served; the first labels the metrics (default: that of --model)
    #[arg(long, num_args = 1..)]
    pub served_model_name: Vec<String>,
    /// LoRA adapters, as names or JSON objects with `name`, `path` and `base_model_name`
    #[arg(long, num_args = 1..)]
    pub lora_modules: Vec<LoraModule>,
    /// Adapters that can run at the same time
    #[arg(long, default_value_t = Config::default().max_loras)]
    pub max_loras: usize,
    /// Longest prompt plus output, in tokens
    #[arg(long, default_value_t = Config::default().max_model_len)]
    pub max_model_len: usize,
    /// Sequences that run at the same time
    #[arg(long, default_value_t = Config::default().max_num_seqs)]
    pub max_num_seqs: usize,
    /// Sequences that may wait for a slot; more are refused
    #[arg(long, default_value_t = Config::default().max_waiting_queue_length)]
    pub max_waiting_queue_length: usize,
    /// HTTP status of a request that finds the queue full
    #[arg(long, default_value_t = Config::default().queue_full_status,
          value_parser = clap::value_parser!(u16).range(400..=599))]
    pub queue_full_status: u16,
    /// Largest accepted request body, in MiB
    #[arg(long, default_value_t = Config::default().max_request_body_size_mb,
          value_parser = clap::value_parser!(u16).range(1..=512))]
    pub max_request_body_size_mb: u16,
    /// Where the output text comes from
    #[arg(long, value_enum, default_value_t = Config::default().mode)]
    pub mode: Mode,
    /// Seed of lengths, texts, delays and failures (default: drawn at the start)
    #[arg(long)]
    pub seed: Option<u64>,
    /// Time after the start during which `/health/ready` answers 503
    #[arg(long, default_value_t = Config::default().startup_duration)]
    pub startup_duration: Delay,
    /// Echo `X-Request-Id` in responses
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
          default_value_t = Config::default().enable_request_id_headers)]
    pub enable_request_id_headers: bool,
    /// Simulate the prefix cache and report `cached_tokens`
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true",
          default_value_t = Config::default().enable_kvcache)]
    pub enable_kvcache: bool,
    /// Size of the KV cache, in blocks
    #[arg(long, default_value_t = Config::default().kv_cache_size)]
    pub kv_cache_size: usize,
    /// Tokens in a KV-cache block
    #[arg(long, default_value_t = Config::default().block_size,
          value_parser = parse_block_size)]
    pub block_size: usize,
    /// Dimensions of an embedding when the request names none
    #[arg(long, default_value_t = Config::default().default_embedding_dimensions)]
    pub default_embedding_dimensions: usize,
    /// Name sent as `x-inference-pod` (default: `$POD_NAME`, else `sim-` and the port)
    #[arg(long)]
    pub pod_name: Option<String>,
    /// What can be changed while the replica runs
    #[command(flatten)]
    pub tuning: Tuning,
}

/// Delays and failures; `GET` and `POST /admin/config` read and change them at run time.
#[derive(Clone, Debug, PartialEq, clap::Args, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tuning {
    /// How the time to the first token is computed
    #[arg(long, value_enum, default_value_t = Tuning::default().latency_calculator)]
    pub latency_calculator: Calculator,
    /// Time to the first token (constant calculator)
    #[arg(long, default_value_t)]
    pub time_to_first_token: Delay,
    /// Standard deviation of the time to the first token
    #[arg(long, default_value_t)]
    pub time_to_first_token_std_dev: Delay,
    /// Time between two output tokens
    #[arg(long, default_value_t)]
    pub inter_token_latency: Delay,
    /// Standard deviation of the time between two output tokens
    #[arg(long, default_value_t)]
    pub inter_token_latency_std_dev: Delay,
    /// Fixed part of the prefill time (per-token calculator)
    #[arg(long, default_value_t)]
    pub prefill_overhead: Delay,
    /// Prefill time of one prompt token that is not cached (per-token calculator)
    #[arg(long, default_value_t)]
    pub prefill_time_per_token: Delay,
    /// Standard deviation of the whole prefill time
    #[arg(long, default_value_t)]
    pub prefill_time_std_dev: Delay,
    /// Slowdown of all delays when every slot is taken; grows linearly from 1
    #[arg(long, default_value_t = Tuning::default().time_factor_under_load)]
    pub time_factor_under_load: f64,
    /// Share of inference requests that fail, in percent
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub failure_injection_rate: u8,
    /// Kinds of injected failures; one is drawn for each failure (default: all)
    #[arg(long, value_enum, num_args = 1..)]
    pub failure_types: Vec<FailureType>,
}

/// A LoRA adapter the replica serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoraModule {
    /// Model name that selects the adapter.
    pub name: String,
    /// Path reported as the adapter's `root`.
    #[serde(default)]
    pub path: String,
    /// Base model the adapter belongs to; informational.
    #[serde(default)]
    pub base_model_name: Option<String>,
}

/// Where output text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Words of a fixed list, with a drawn length.
    Random,
    /// The prompt or the last message, whatever `max_tokens` says.
    Echo,
}

/// How the time to the first token is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calculator {
    /// `constant` when a time to first token is given, else `per-token`.
    #[value(alias = "")]
    #[serde(alias = "")]
    Auto,
    /// The same mean for every prompt.
    Constant,
    /// Overhead plus a time for each prompt token that is not cached.
    PerToken,
}

/// A kind of injected failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[value(rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum FailureType {
    /// 429, rate limit reached.
    RateLimit,
    /// 401, wrong API key.
    InvalidApiKey,
    /// 400, context length exceeded.
    ContextLength,
    /// 503, server overloaded.
    ServerError,
    /// 400, malformed request.
    InvalidRequest,
    /// 404, unknown model.
    ModelNotFound,
}

// === impl Config ===

impl Config {
    /// The name that labels metrics and that a request without `model` gets.
    #[must_use]
    pub fn primary_name(&self) -> &str {
        self.served_model_name.first().unwrap_or(&self.model)
    }

    /// Whether `name` is the base model or one of its served names.
    #[must_use]
    pub fn serves_base(&self, name: &str) -> bool {
        if self.served_model_name.is_empty() {
            self.model == name
        } else {
            self.served_model_name.iter().any(|served| served == name)
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8000,
            model: "llama".to_owned(),
            served_model_name: Vec::new(),
            lora_modules: Vec::new(),
            max_loras: 1,
            max_model_len: 1024,
            max_num_seqs: 5,
            max_waiting_queue_length: 1000,
            queue_full_status: 429,
            max_request_body_size_mb: 4,
            mode: Mode::Random,
            seed: None,
            startup_duration: Delay::default(),
            enable_request_id_headers: false,
            enable_kvcache: true,
            kv_cache_size: 1024,
            block_size: 16,
            default_embedding_dimensions: 384,
            pod_name: None,
            tuning: Tuning::default(),
        }
    }
}

// === impl Tuning ===

impl Tuning {
    /// Checks what the types alone do not say.
    ///
    /// # Errors
    /// A message that names the field and what is accepted.
    pub fn validate(&self) -> Result<(), String> {
        if !(1.0..=1000.0).contains(&self.time_factor_under_load) {
            return Err(format!(
                "`time-factor-under-load` is {}; accepted: 1 to 1000",
                self.time_factor_under_load
            ));
        }
        if self.failure_injection_rate > 100 {
            return Err(format!(
                "`failure-injection-rate` is {}; accepted: 0 to 100",
                self.failure_injection_rate
            ));
        }
        Ok(())
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            latency_calculator: Calculator::Auto,
            time_to_first_token: Delay::default(),
            time_to_first_token_std_dev: Delay::default(),
            inter_token_latency: Delay::default(),
            inter_token_latency_std_dev: Delay::default(),
            prefill_overhead: Delay::default(),
            prefill_time_per_token: Delay::default(),
            prefill_time_std_dev: Delay::default(),
            time_factor_under_load: 1.0,
            failure_injection_rate: 0,
            failure_types: Vec::new(),
        }
    }
}

// === impl LoraModule ===

impl LoraModule {
    /// An adapter with a path made from its name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            path: format!("/models/lora/{name}"),
            base_model_name: None,
        }
    }
}

impl FromStr for LoraModule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.trim_start().starts_with('{') {
            return Ok(Self::named(text));
        }
        serde_json::from_str(text).map_err(|error| {
            format!(
                "`{text}` is no adapter: {error}; accepted: a name or {{\"name\":…,\"path\":…}}"
            )
        })
    }
}

fn parse_block_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(size @ (8 | 16 | 32 | 64 | 128)) => Ok(size),
        _ => Err(format!(
            "block size `{text}` is not offered; accepted: 8, 16, 32, 64, 128"
        )),
    }
}
