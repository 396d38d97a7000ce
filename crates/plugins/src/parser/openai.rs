//! `openai-parser`: reads the OpenAI APIs.
//!
//! # What it does
//! Lets the pool read chat completions, completions, embeddings, responses, conversations and image
//! generations, so that their prompts and models count.
//!
//! # Reads
//! Paths that end in `chat/completions`, `completions`, `embeddings`, `responses`, `conversations`,
//! `images/generations`, and the `render` forms of the first two.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: openai-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct OpenAiParser;

impl Plugin for OpenAiParser {
    const TYPE: &'static str = "openai-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads the OpenAI APIs";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl OpenAiParser ===

impl Parser for OpenAiParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[
            ApiKind::ChatCompletions,
            ApiKind::Completions,
            ApiKind::Embeddings,
            ApiKind::Responses,
            ApiKind::Conversations,
            ApiKind::Images,
        ]
    }
}
