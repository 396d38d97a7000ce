//! InferenceModelRewrite: other model names for the ones that clients use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{ObjectRef, Resource};

/// An InferenceModelRewrite.
pub type InferenceModelRewrite = Resource<InferenceModelRewriteSpec>;

/// `spec` of an InferenceModelRewrite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InferenceModelRewriteSpec {
    /// Pool in the same namespace.
    pub pool_ref: ObjectRef,
    /// Rules; the first that matches wins.
    pub rules: Vec<RewriteRule>,
}

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RewriteRule {
    /// Any must hold; empty means all models.
    pub matches: Vec<RewriteMatch>,
    /// Names to use instead, by weight.
    pub targets: Vec<RewriteTarget>,
}

/// Condition on a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RewriteMatch {
    /// Condition on the model; absent holds for all.
    pub model: Option<ModelMatch>,
}

/// Condition on the model name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelMatch {
    /// `Exact`, the default and only one.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Name.
    pub value: String,
}

/// A name to use instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RewriteTarget {
    /// Share, 1..=1,000,000; all targets of a rule have one or none has.
    #[serde(default)]
    pub weight: Option<u32>,
    /// Name.
    pub model_rewrite: String,
}
