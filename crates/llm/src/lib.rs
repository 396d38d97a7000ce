//! Wire formats of inference requests and responses: bytes in, facts out. No IO.
//!
//! A request body is scanned once ([`Fields`]), read as what its path says ([`InferenceRequest`])
//! and forwarded as the bytes that came, with at most the model's name replaced ([`splice`]). What
//! comes in a gRPC message is read inside of it ([`vertex_json`], [`InferenceRequest::parse_grpc`]). A
//! response passes through a [`ResponseReader`], which reads the usage and puts the client's model
//! name back.

#![forbid(unsafe_code)]

mod api_kind;
mod budget;
mod error_body;
mod fields;
mod grpc;
mod mask;
mod parse;
mod prompt;
mod protobuf;
mod response;
mod rewrite;
mod sse;
mod usage;
mod vertex;
mod vllm_grpc;
mod walk;

pub use api_kind::ApiKind;
pub use budget::{Budget, Exhausted, Share};
pub use error_body::error_body;
pub use fields::{Field, Fields, ModelField};
pub use grpc::FrameError;
pub use parse::{InferenceRequest, ParseError};
pub use prompt::{Prompt, Prompts, TextRanges};
pub use response::{DEFAULT_HOLD_LIMIT, ResponseReader, Restore};
pub use rewrite::splice;
pub use sse::{Event, MAX_EVENT, Piece, SseScanner};
pub use usage::Usage;
pub use vertex::vertex_json;
pub use walk::{MAX_DEPTH, ScanError};
