//! InferenceObjective: priority of requests by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{ObjectRef, Resource};

/// An InferenceObjective.
pub type InferenceObjective = Resource<InferenceObjectiveSpec>;

/// `spec` of an InferenceObjective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InferenceObjectiveSpec {
    /// Higher goes first; below 0 may be shed; absent means 0.
    #[serde(default)]
    pub priority: Option<i32>,
    /// Pool in the same namespace.
    pub pool_ref: ObjectRef,
}
