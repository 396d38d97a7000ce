//! `global-strict-fairness-policy`: serves all flows of a band as one.
//!
//! # What it does
//! Names how flow control shares a band among flows. Without flow control nothing waits and
//! nothing is shared.
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
//! type: global-strict-fairness-policy
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct GlobalStrictFairnessPolicy;

impl Plugin for GlobalStrictFairnessPolicy {
    const TYPE: &'static str = "global-strict-fairness-policy";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "serves all flows of a band as one";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.policy();
    }
}
