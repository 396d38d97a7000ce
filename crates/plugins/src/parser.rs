//! Parsers: which APIs a pool reads. The formats are in `suimon-llm`.

pub mod anthropic;
pub mod openai;
pub mod passthrough;
pub mod vllm_http;
