//! `vllmhttp-parser`: reads vLLM's token-in, token-out API.
//!
//! # What it does
//! Lets the pool read requests whose prompt is token ids.
//!
//! # Reads
//! Paths that end in `inference/v1/generate`.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: vllmhttp-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct VllmHttpParser;

impl Plugin for VllmHttpParser {
    const TYPE: &'static str = "vllmhttp-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads vLLM's token-in, token-out API";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl VllmHttpParser ===

impl Parser for VllmHttpParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[ApiKind::Generate]
    }
}
