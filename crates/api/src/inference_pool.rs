//! InferencePool of the Gateway API inference extension.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::Resource;

/// An InferencePool.
pub type InferencePool = Resource<InferencePoolSpec>;

/// `spec` of an InferencePool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InferencePoolSpec {
    /// Which Pods of the namespace are members.
    pub selector: PoolSelector,
    /// Ports of each member, 1 to 8; each is an endpoint.
    pub target_ports: Vec<PortNumber>,
    /// `http` (default) or `kubernetes.io/h2c`.
    #[serde(default)]
    pub app_protocol: Option<String>,
    /// Who picks endpoints; absent means the built-in picker.
    #[serde(default)]
    pub endpoint_picker_ref: Option<EndpointPickerRef>,
}

/// Labels of members.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSelector {
    /// All must be there with these values.
    pub match_labels: BTreeMap<String, String>,
}

/// A port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object such as `{number: 9002}`"
)]
pub struct PortNumber {
    /// 1 to 65535.
    pub number: u16,
}

/// Who picks endpoints of a pool; always in the pool's namespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointPickerRef {
    /// Group; absent means the core group.
    #[serde(default)]
    pub group: Option<String>,
    /// `Service` (default): an external picker. `ConfigMap`: run its EndpointPickerConfig here.
    #[serde(default)]
    pub kind: Option<String>,
    /// Name.
    pub name: String,
    /// Port of the Service.
    #[serde(default)]
    pub port: Option<PortNumber>,
    /// `FailClose` (default) or `FailOpen`.
    #[serde(default)]
    pub failure_mode: Option<String>,
}
