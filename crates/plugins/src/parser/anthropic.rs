//! `anthropic-parser`: reads the Anthropic messages API.
//!
//! # What it does
//! Lets the pool read messages and token counting.
//!
//! # Reads
//! Paths that end in `messages` and `messages/count_tokens`.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: anthropic-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct AnthropicParser;

impl Plugin for AnthropicParser {
    const TYPE: &'static str = "anthropic-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads the Anthropic messages API";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl AnthropicParser ===

impl Parser for AnthropicParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[ApiKind::Messages, ApiKind::CountTokens]
    }
}
