//! Simulates a vLLM model server: its HTTP interface, metrics page, queue, latency and prefix
//! cache, without a model. It does not simulate batching steps, preemption or the cost of KV
//! transfer.
//!
//! | file | what |
//! |---|---|
//! | `args`, `config`, `delay` | flags and their meaning |
//! | `replica`, `server`, `request_log` | one listening replica and its handle for tests |
//! | `api` | the HTTP endpoints |
//! | `engine`, `knobs` | state that the endpoints share; switches for tests |
//! | `sequence`, `scheduler`, `kv_cache`, `lora`, `latency` | the life of one generation |
//! | `generate`, `tokenizer` | what it says |
//! | `event_stream` | server-sent events whose end is the end of the generation |
//! | `metrics`, `error` | how it answers about itself and about mistakes |
#![forbid(unsafe_code)]

mod api;
mod args;
mod clock;
mod config;
mod delay;
mod engine;
mod error;
mod event_stream;
mod generate;
mod knobs;
mod kv_cache;
mod latency;
mod lora;
mod metrics;
mod replica;
mod request_log;
mod scheduler;
mod sequence;
mod server;
mod tokenizer;

pub use args::Args;
pub use config::{Calculator, Config, FailureType, LoraModule, Mode, Tuning};
pub use delay::Delay;
pub use knobs::FakeLoad;
pub use replica::{Replica, Stats, serve};
pub use request_log::ReceivedRequest;
