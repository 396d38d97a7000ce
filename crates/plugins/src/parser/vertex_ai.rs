//! `vertexai-parser`: reads OpenAI's APIs inside of Vertex AI's gRPC methods.
//!
//! # What it does
//! Lets the pool read chat completions and responses that come as JSON in the `HttpBody` of a gRPC
//! message. Their model counts, but cannot be replaced: where a rewrite would, the request is refused.
//!
//! # Reads
//! Paths that end in `PredictionService/ChatCompletions`, `PredictionService/RawPredict` and
//! `PredictionService/StreamRawPredict`, with any package in front.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: vertexai-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct VertexAiParser;

impl Plugin for VertexAiParser {
    const TYPE: &'static str = "vertexai-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads OpenAI's APIs inside of Vertex AI's gRPC methods";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl VertexAiParser ===

impl Parser for VertexAiParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[
            ApiKind::VertexChat,
            ApiKind::VertexRawPredict,
            ApiKind::VertexStreamRawPredict,
        ]
    }
}
