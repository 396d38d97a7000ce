//! EndpointPickerConfig: plugins of the endpoint picker and how they work together.
//!
//! Strict outside `parameters`: unknown fields and duplicate keys are errors. Each plugin reads its
//! own `parameters`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::{self, ConfigError, Step};
use crate::quantity::Quantity;

/// Versions of the document that are read.
pub const API_VERSIONS: [&str; 2] = [
    "llm-d.ai/v1alpha1",
    "inference.networking.x-k8s.io/v1alpha1",
];

/// Configuration of an endpoint picker. All fields may be absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointPickerConfig {
    /// `llm-d.ai/v1alpha1` (default) or the older `inference.networking.x-k8s.io/v1alpha1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// `EndpointPickerConfig` (default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Switches, each `name`, `name=true` or `name=false`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_gates: Vec<String>,
    /// Plugin instances.
    pub plugins: Vec<PluginSpec>,
    /// How endpoints are chosen. Default: one profile `default`.
    pub scheduling_profiles: Vec<SchedulingProfile>,
    /// Where endpoint state comes from. Default: the metrics page of each endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_layer: Option<DataLayerConfig>,
    /// Queues under load; only with the feature gate `flowControl`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControlConfig>,
    /// How requests are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_handler: Option<RequestHandlerConfig>,
    /// Deprecated: `flowControl.saturationDetector`, which wins if both are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_detector: Option<PluginRef>,
    /// Deprecated: one entry of `requestHandler.parsers`, which wins if both are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parser: Option<PluginRef>,
}

/// One plugin instance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginSpec {
    /// Name for references. Default: the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Type of the plugin.
    #[serde(rename = "type")]
    pub kind: String,
    /// Parameters of the type; absent means its defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<serde_json::Value>,
}

/// One way to choose endpoints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulingProfile {
    /// Name, unique.
    pub name: String,
    /// Filters in the order in which they run, scorers and one picker.
    #[serde(default)]
    pub plugins: Vec<SchedulingPlugin>,
}

/// A plugin in a profile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulingPlugin {
    /// Name of the plugin instance.
    pub plugin_ref: String,
    /// Weight of a scorer. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// Reference to a plugin instance.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginRef {
    /// Name of the plugin instance.
    pub plugin_ref: String,
}

/// Where endpoint state comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct DataLayerConfig {
    /// Whether the default metrics source is added. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inject_defaults: Option<bool>,
    /// Sources and what reads them.
    pub sources: Vec<DataSource>,
    /// Plugin that lists endpoints. Default: the pool's members.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovery: Option<PluginRef>,
    /// Plugin that lists other replicas of the picker. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_discovery: Option<PluginRef>,
    /// Plugin that shares state with other replicas. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_replica_syncer_plugin_ref: Option<String>,
    /// How often state is shared, as a Go duration. Default: that of the plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_replica_sync_interval: Option<String>,
}

/// One source of endpoint state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataSource {
    /// Name of the plugin instance.
    pub plugin_ref: String,
    /// Plugins that read it.
    #[serde(default)]
    pub extractors: Vec<PluginRef>,
}

/// How requests are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHandlerConfig {
    /// Parsers; the longest matching path suffix wins.
    pub parsers: Vec<PluginRef>,
}

/// Queues under load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowControlConfig {
    /// Bytes over all bands. Default and 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Quantity>,
    /// Requests over all bands. Default and 0: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<Quantity>,
    /// Longest wait, as a Go duration. Default: `60s`; `0s`: no limit.
    #[serde(rename = "defaultRequestTTL", skip_serializing_if = "Option::is_none")]
    pub default_request_ttl: Option<String>,
    /// Longest wait while the pool is empty. Default: `defaultRequestTTL`.
    #[serde(
        rename = "noEndpointRequestTTL",
        skip_serializing_if = "Option::is_none"
    )]
    pub no_endpoint_request_ttl: Option<String>,
    /// Band of priorities that are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_priority_band: Option<PriorityBand>,
    /// Band of priorities below 0. Default: `defaultPriorityBand`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_negative_priority_band: Option<PriorityBand>,
    /// Bands by priority.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priority_bands: Vec<PriorityBand>,
    /// Plugin that limits usage. Default: `static-usage-limit-policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_limit_policy_plugin_ref: Option<String>,
    /// Plugin that says when the pool is full. Default: `utilization-detector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saturation_detector: Option<PluginRef>,
    /// Whether requests below priority 0 may be cut off for others. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_eviction: Option<bool>,
}

/// Queue of one priority.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PriorityBand {
    /// Priority; higher goes first. Default: 0.
    pub priority: i32,
    /// Bytes. Default and 0: 1 GB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Quantity>,
    /// Requests. Default and 0: 5000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<Quantity>,
    /// Plugin that chooses among flows. Default: `global-strict-fairness-policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_policy_ref: Option<String>,
    /// Plugin that orders a flow. Default: `fcfs-ordering-policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordering_policy_ref: Option<String>,
}

/// Reads an EndpointPickerConfig from YAML or JSON. Text without content is the empty configuration.
///
/// # Errors
/// When the text is not YAML, is of another kind or version, or has a field that does not exist.
pub fn parse_picker_config(text: &str) -> Result<EndpointPickerConfig, ConfigError> {
    let mut value = decode::to_value(text)?;
    if value.is_null() {
        return Ok(EndpointPickerConfig::default());
    }
    decode::strip_nulls(&mut value, Some("parameters"));
    let config: EndpointPickerConfig = decode::to_type(value, text, &[])?;
    let wrong = |field: &str, found: &str, accepted: String| ConfigError {
        accepted: Some(accepted),
        ..decode::fault(
            text,
            &[Step::Key(field.to_owned())],
            format!("`{found}` is not an EndpointPickerConfig"),
        )
    };
    match (&config.kind, &config.api_version) {
        (Some(kind), _) if kind != "EndpointPickerConfig" => {
            Err(wrong("kind", kind, "`EndpointPickerConfig`".to_owned()))
        }
        (_, Some(version)) if !API_VERSIONS.contains(&version.as_str()) => {
            let accepted = API_VERSIONS
                .map(|version| format!("`{version}`"))
                .join(", ");
            Err(wrong("apiVersion", version, accepted))
        }
        _ => Ok(config),
    }
}

/// Whether a text says of itself that it is an EndpointPickerConfig, however wrong the rest is.
pub fn is_picker_config(text: &str) -> bool {
    decode::to_value(text).is_ok_and(|value| {
        value
            .get("kind")
            .is_some_and(|kind| kind == "EndpointPickerConfig")
    })
}
