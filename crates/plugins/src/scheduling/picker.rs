//! Pickers.

pub mod max_score;
pub mod random;
pub mod weighted_random;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of every picker.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Params {
    /// Endpoints to choose, best first; those behind the first are where the request goes when no
    /// connection can be made. Below 1 counts as 1.
    pub max_num_of_endpoints: i64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_num_of_endpoints: 1,
        }
    }
}

// === impl Params ===

impl Params {
    fn limit(&self) -> usize {
        usize::try_from(self.max_num_of_endpoints)
            .unwrap_or(1)
            .max(1)
    }
}
