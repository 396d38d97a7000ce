//! Parameters of the data layer's plugins, as they stand in an `EndpointPickerConfig`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `metrics-data-source`: where and how often metrics pages are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct MetricsSourceParams {
    /// Protocol of the metrics page.
    pub scheme: Scheme,
    /// Path of the metrics page.
    pub path: String,
    /// Port of the metrics page for all endpoints, 1 to 65535. By default each endpoint's own.
    pub port: Option<u16>,
    /// With `https`: accept any certificate. `caCertPath` is then not looked at.
    pub insecure_skip_verify: bool,
    /// PEM file of the authorities that sign the servers' certificates. By default the system's.
    pub ca_cert_path: Option<PathBuf>,
    /// PEM file of the client certificate and its chain. Needs `clientKeyPath`.
    pub client_cert_path: Option<PathBuf>,
    /// PEM file of the client certificate's private key. Needs `clientCertPath`.
    pub client_key_path: Option<PathBuf>,
    /// Time between two reads of one endpoint as a Go duration, as in `100ms`. Empty: 50ms, which is
    /// also the least.
    pub interval: String,
    /// Read once a second while no request has been picked for five seconds. The first pick is
    /// followed by a read at once and the full rate. An addition to the peers' parameters.
    pub adaptive: bool,
}

/// Protocol of a metrics page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain text.
    #[default]
    Http,
    /// TLS.
    Https,
}

/// Parameters of `core-metrics-extractor`: which series of a page tell what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct CoreMetricsParams {
    /// Pod label that names the engine. Where it is absent `inference.networking.k8s.io/engine-type`
    /// is looked at.
    pub engine_label_key: String,
    /// Engine of an endpoint that has neither label and whose page belongs to no known engine.
    pub default_engine: String,
    /// Further engines. One with the name of a built-in engine replaces it.
    pub engine_configs: Vec<EngineConfig>,
}

/// Metric names of one engine. Each `…Spec` is `name` or `name{label=value,...}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct EngineConfig {
    /// Value of the engine label. Not `default`.
    pub name: String,
    /// Requests that wait for a place in the batch.
    pub queued_requests_spec: Option<String>,
    /// Requests in the batch.
    pub running_requests_spec: Option<String>,
    /// Share of KV-cache blocks in use, 0 to 1.
    pub kv_usage_spec: Option<String>,
    /// LoRA adapters, in the labels `max_lora`, `running_lora_adapters`, `waiting_lora_adapters`. The
    /// series with the greatest value counts.
    pub lora_spec: Option<String>,
    /// Series whose labels tell the KV-cache's shape.
    pub cache_info_spec: Option<String>,
    /// Label of `cacheInfoSpec` with the tokens in a block. By default `block_size`.
    pub cache_block_size_label_name: Option<String>,
    /// Label of `cacheInfoSpec` with the number of blocks. By default `num_gpu_blocks`.
    pub cache_num_blocks_label_name: Option<String>,
    /// Tokens in a block, for engines that tell it as a value.
    pub cache_block_size_spec: Option<String>,
    /// Number of blocks, for engines that tell it as a value.
    pub cache_num_blocks_spec: Option<String>,
    /// Series for plugins of one's own. They are checked; no plugin here reads them.
    pub custom_metrics: Vec<CustomMetric>,
}

/// One series under a name of one's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CustomMetric {
    /// Name that a plugin reads it by.
    pub attribute_key: String,
    /// Which series.
    pub metric_spec: String,
}

/// Parameters of `file-discovery`: endpoints from a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FileDiscoveryParams {
    /// YAML or JSON file with a list `endpoints` of `{name, namespace, address, port, labels}`.
    pub path: PathBuf,
    /// Read the file again when it changes.
    #[serde(default)]
    pub watch_file: bool,
}

impl Default for MetricsSourceParams {
    fn default() -> Self {
        Self {
            scheme: Scheme::Http,
            path: String::from("/metrics"),
            port: None,
            insecure_skip_verify: true,
            ca_cert_path: None,
            client_cert_path: None,
            client_key_path: None,
            interval: String::new(),
            adaptive: true,
        }
    }
}

impl Default for CoreMetricsParams {
    fn default() -> Self {
        Self {
            engine_label_key: String::from("llm-d.ai/engine-type"),
            default_engine: String::from("vllm"),
            engine_configs: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_parameters_are_the_documented_defaults() {
        let source: MetricsSourceParams = serde_json::from_value(json!({})).unwrap();
        assert_eq!(source, MetricsSourceParams::default());
        assert_eq!(
            (source.path.as_str(), source.insecure_skip_verify),
            ("/metrics", true)
        );
        let core: CoreMetricsParams = serde_json::from_value(json!({})).unwrap();
        assert_eq!(core, CoreMetricsParams::default());
    }

    #[test]
    fn reads_the_names_of_the_configuration() {
        let source: MetricsSourceParams = serde_json::from_value(json!({
            "scheme": "https", "path": "/m", "port": 9400, "insecureSkipVerify": false,
            "caCertPath": "/ca", "clientCertPath": "/c", "clientKeyPath": "/k", "interval": "1s",
        }))
        .unwrap();
        assert_eq!((source.scheme, source.port), (Scheme::Https, Some(9400)));
        let core: CoreMetricsParams = serde_json::from_value(json!({
            "engineLabelKey": "e", "defaultEngine": "mine",
            "engineConfigs": [{"name": "mine", "queuedRequestsSpec": "q", "customMetrics": [
                {"attributeKey": "a", "metricSpec": "b"}]}],
        }))
        .unwrap();
        assert_eq!(core.engine_configs[0].custom_metrics[0].attribute_key, "a");
        let file: FileDiscoveryParams = serde_json::from_value(json!({"path": "/f"})).unwrap();
        assert!(!file.watch_file);
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        assert!(serde_json::from_value::<MetricsSourceParams>(json!({"intervall": "1s"})).is_err());
        assert!(serde_json::from_value::<MetricsSourceParams>(json!({"port": 70000})).is_err());
        assert!(serde_json::from_value::<FileDiscoveryParams>(json!({})).is_err());
    }
}
