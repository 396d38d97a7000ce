//! Wire formats of inference requests and responses: bytes in, facts out. No IO.

#![forbid(unsafe_code)]

use bytes::Bytes;

/// The API that a request speaks, by the suffix of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiKind {
    /// OpenAI chat completions.
    ChatCompletions,
    /// OpenAI completions.
    Completions,
    /// OpenAI embeddings.
    Embeddings,
    /// OpenAI responses.
    Responses,
    /// OpenAI conversations.
    Conversations,
    /// OpenAI image generation.
    Images,
    /// Anthropic messages.
    Messages,
    /// Anthropic token counting.
    CountTokens,
    /// vLLM token-in, token-out generation.
    Generate,
    /// Not interpreted.
    Opaque,
}

/// The body does not fit its API.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {}

/// Top-level fields of a JSON body, found in one pass.
#[derive(Debug)]
pub struct Fields {
    /// The body.
    pub bytes: Bytes,
}
