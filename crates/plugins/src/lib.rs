//! The in-tree plugins that need no IO: one file each, and one line each in [`CATALOGUE`].
//!
//! A plugin's file has its documentation, parameters, code and tests; nothing else names it.

#![forbid(unsafe_code)]

use suimon_picker::Descriptor;

pub mod flow;
pub mod parser;
pub mod request;
pub mod scheduling;
#[cfg(test)]
mod testing;

/// Every plugin of this crate, sorted by name.
pub static CATALOGUE: &[Descriptor] = &[
    Descriptor::of::<parser::anthropic::AnthropicParser>(),
    Descriptor::of::<request::producer::approx_prefix::ApproxPrefixCacheProducer>(),
    Descriptor::of::<flow::ordering::fcfs::FcfsOrderingPolicy>(),
    Descriptor::of::<flow::fairness::global_strict::GlobalStrictFairnessPolicy>(),
    Descriptor::of::<request::producer::in_flight_load::InFlightLoadProducer>(),
    Descriptor::of::<scheduling::scorer::kv_cache_utilization::KvCacheUtilizationScorer>(),
    Descriptor::of::<scheduling::scorer::lora_affinity::LoraAffinityScorer>(),
    Descriptor::of::<scheduling::picker::max_score::MaxScorePicker>(),
    Descriptor::of::<parser::openai::OpenAiParser>(),
    Descriptor::of::<parser::passthrough::PassthroughParser>(),
    Descriptor::of::<scheduling::scorer::prefix_cache::PrefixCacheScorer>(),
    Descriptor::of::<scheduling::scorer::queue::QueueScorer>(),
    Descriptor::of::<scheduling::picker::random::RandomPicker>(),
    Descriptor::of::<scheduling::scorer::running_requests_size::RunningRequestsSizeScorer>(),
    Descriptor::of::<parser::sglang_http::SglangHttpParser>(),
    Descriptor::of::<scheduling::profile::single::SingleProfileHandler>(),
    Descriptor::of::<flow::usage_limit::r#static::StaticUsageLimitPolicy>(),
    Descriptor::of::<flow::saturation::utilization::UtilizationDetector>(),
    Descriptor::of::<parser::vertex_ai::VertexAiParser>(),
    Descriptor::of::<parser::vllm_grpc::VllmGrpcParser>(),
    Descriptor::of::<parser::vllm_http::VllmHttpParser>(),
    Descriptor::of::<scheduling::picker::weighted_random::WeightedRandomPicker>(),
];
