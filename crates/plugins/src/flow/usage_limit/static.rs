//! `static-usage-limit-policy`: lets a pool be filled up to a fixed saturation.
//!
//! # What it does
//! Names how far flow control fills a pool. Without flow control requests of negative priority are
//! shed at saturation 1.0 and nothing else is limited.
//!
//! # Reads
//! Nothing.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `threshold`.
//!
//! # Example
//! ```yaml
//! type: static-usage-limit-policy
//! ```

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// Parameters of `static-usage-limit-policy`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Saturation up to which requests are dispatched; above 0.
    pub threshold: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: 1.0 }
    }
}

/// See the module.
#[derive(Debug)]
pub struct StaticUsageLimitPolicy;

impl Plugin for StaticUsageLimitPolicy {
    const TYPE: &'static str = "static-usage-limit-policy";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "lets a pool be filled up to a fixed saturation";
    type Params = Params;

    fn build(params: Params, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        if params.threshold > 0.0 {
            return Ok(Self);
        }
        Err(BuildError::Value {
            field: "threshold",
            why: format!("must be above 0, got {}", params.threshold),
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.policy();
    }
}
