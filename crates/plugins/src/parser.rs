//! Parsers: which APIs a pool reads. The formats are in `suimon-llm`.

pub mod anthropic;
pub mod openai;
pub mod passthrough;
pub mod sglang_http;
pub mod vertex_ai;
pub mod vllm_grpc;
pub mod vllm_http;
