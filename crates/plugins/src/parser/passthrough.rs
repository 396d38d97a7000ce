//! `passthrough-parser`: takes what no other parser claims, unread.
//!
//! # What it does
//! Lets requests to other paths through; their bodies stay unread, so only load counts for them.
//!
//! # Reads
//! Nothing.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: passthrough-parser
//! ```

use std::sync::Arc;

use suimon_llm::ApiKind;
use suimon_picker::plugin::NoParams;
use suimon_picker::role::Parser;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct PassthroughParser;

impl Plugin for PassthroughParser {
    const TYPE: &'static str = "passthrough-parser";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "takes what no other parser claims, unread";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.parser(self);
    }
}

// === impl PassthroughParser ===

impl Parser for PassthroughParser {
    fn claims(&self) -> &'static [ApiKind] {
        &[]
    }
}
