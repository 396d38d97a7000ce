//! `sglanghttp-parser`: reads SGLang's own generation API.
//!
//! # What it does
//! Lets the pool read requests to SGLang whose prompt is token ids or text, one or several. `extra_key`
//! sets prefixes apart. The API names no model, so rewrites do not apply to it.
//!
//! # Reads
//! The path `/generate`.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: sglanghttp-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct SglangHttpParser;

impl Plugin for SglangHttpParser {
    const TYPE: &'static str = "sglanghttp-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads SGLang's own generation API";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl SglangHttpParser ===

impl Parser for SglangHttpParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[ApiKind::SglangGenerate]
    }
}
