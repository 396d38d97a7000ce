//! Flags of `suimon epp`: those of llm-d-router's `epp`, and a few of our own.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::between;

/// `suimon epp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  suimon epp --pool-name models --config-file epp.yaml
  suimon epp --pool-name models --config-file epp.yaml --secure-serving=false

A drop-in for llm-d-router's `epp`: same flags, ports and health names. The endpoints come from the
configuration's `dataLayer.discovery`, as in examples/envoy/epp.yaml. The metrics port also has the
dashboard and the JSON of decisions.")]
pub struct EppArgs {
    /// File with an EndpointPickerConfig
    #[arg(long, value_name = "FILE", help_heading = "Picker")]
    pub config_file: Option<PathBuf>,
    /// The EndpointPickerConfig itself
    #[arg(long, value_name = "YAML", help_heading = "Picker")]
    pub config_text: Option<String>,
    /// Name of the InferencePool
    #[arg(
        long,
        default_value = "",
        value_name = "NAME",
        help_heading = "Picker",
        hide_default_value = true
    )]
    pub pool_name: String,
    /// Namespace of the InferencePool; by default the environment variable NAMESPACE, else `default`
    #[arg(
        long,
        default_value = "",
        value_name = "NAME",
        help_heading = "Picker",
        hide_default_value = true
    )]
    pub pool_namespace: String,
    /// Group of the InferencePool
    #[arg(
        long,
        default_value = "inference.networking.k8s.io",
        value_name = "GROUP",
        help_heading = "Picker"
    )]
    pub pool_group: String,
    /// Selects endpoints without an InferencePool; needs a cluster, which is not supported yet
    #[arg(
        long,
        default_value = "",
        value_name = "SELECTOR",
        help_heading = "Picker",
        hide_default_value = true
    )]
    pub endpoint_selector: String,
    /// Ports of the selected endpoints, 1 to 8
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "PORTS",
        help_heading = "Picker"
    )]
    pub endpoint_target_ports: Vec<u16>,
    /// Do not let the proxy say which endpoints come into question
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, help_heading = "Picker")]
    pub disable_endpoint_subset_filter: bool,

    /// Port of external processing
    #[arg(
        long,
        default_value_t = 9002,
        value_name = "PORT",
        help_heading = "Serving"
    )]
    pub grpc_port: u16,
    /// Port of gRPC health checks, in plain text
    #[arg(
        long,
        default_value_t = 9003,
        value_name = "PORT",
        help_heading = "Serving"
    )]
    pub grpc_health_port: u16,
    /// Port of metrics, dashboard and JSON
    #[arg(
        long,
        default_value_t = 9090,
        value_name = "PORT",
        help_heading = "Serving"
    )]
    pub metrics_port: u16,
    /// Address of all ports
    #[arg(
        long,
        default_value = "0.0.0.0",
        value_name = "IP",
        help_heading = "Serving"
    )]
    pub address: IpAddr,
    /// Health checks on the port of external processing too
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, help_heading = "Serving")]
    pub health_checking: bool,
    /// Time that requests get to end after SIGTERM, and in which new ones are still taken
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = duration, help_heading = "Serving")]
    pub drain_timeout: std::time::Duration,
    /// Longest message of the proxy, and with it the longest body, as in `64Mi`; by default 32 MiB
    #[arg(
        long,
        default_value = "",
        value_name = "SIZE",
        help_heading = "Serving",
        hide_default_value = true
    )]
    pub grpc_max_recv_msg_size: String,
    /// Longest message to the proxy; no effect: none is longer than 62,000 bytes of a body
    #[arg(
        long,
        default_value = "",
        value_name = "SIZE",
        help_heading = "Serving",
        hide_default_value = true
    )]
    pub grpc_max_send_msg_size: String,
    /// Largest sum of all request bodies in memory in MiB; beyond it requests get 503
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = between::<1, 1_048_576>, help_heading = "Serving")]
    pub max_bodies_mib: usize,
    /// Threads that serve requests; one a core by default
    #[arg(long, value_name = "N", value_parser = between::<1, 1024>, help_heading = "Serving")]
    pub workers: Option<usize>,
    /// Newest decisions that are kept for the dashboard
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = between::<0, 10_000>, help_heading = "Serving")]
    pub keep_decisions: usize,

    /// TLS on the port of external processing
    #[arg(long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, help_heading = "TLS")]
    pub secure_serving: bool,
    /// Folder with tls.crt and tls.key; without it a certificate is made at the start
    #[arg(long, value_name = "DIR", help_heading = "TLS")]
    pub cert_path: Option<PathBuf>,
    /// Take the certificate anew when its files change
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, help_heading = "TLS")]
    pub enable_cert_reload: bool,
    /// Least version of TLS: VersionTLS12 or VersionTLS13; older ones mean VersionTLS12
    #[arg(
        long,
        default_value = "",
        value_name = "VERSION",
        help_heading = "TLS",
        hide_default_value = true
    )]
    pub tls_min_version: String,
    /// Cipher suites of TLS 1.2, by their names in Go
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        help_heading = "TLS"
    )]
    pub tls_cipher_suites: Vec<String>,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub peer: PeerArgs,
}

/// Flags of the peer that change nothing here, or not yet.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accepted for compatibility")]
pub struct PeerArgs {
    /// Verbosity: 4 logs as `debug`, 5 as `trace`, less as `info`
    #[arg(short = 'v', long = "v", default_value_t = 2, value_name = "N")]
    pub verbosity: i8,
    /// Leader election; needs a cluster, without one this is the leader
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub ha_enable_leader_election: bool,
    /// Authentication of metrics by the cluster; without a cluster there is none
    #[arg(long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub metrics_endpoint_auth: bool,
    /// TLS of metrics; not supported
    #[arg(
        long,
        default_value = "",
        value_name = "DIR",
        hide_default_value = true
    )]
    pub metrics_cert_dir: String,
    /// Client certificates of metrics; not supported
    #[arg(
        long,
        default_value = "",
        value_name = "FILE",
        hide_default_value = true
    )]
    pub metrics_client_ca_file: String,
    /// Go profiles on the metrics port; there are none
    #[arg(long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub enable_pprof: bool,
    /// Traces; none are sent yet
    #[arg(long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub tracing: bool,
    /// Metrics of each gRPC stream; the others tell it
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub enable_grpc_stream_metrics: bool,
    /// Scores as metadata; not supported: `/api/decisions` has them
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub emit_endpoint_scores: bool,
    /// Experimental plugins are always there
    #[arg(long, action = ArgAction::Set, default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub allow_experimental_plugins: bool,
    /// Time between two scrapes; `interval` of the metrics-data-source sets it
    #[arg(long, default_value = "50ms", value_name = "DURATION", value_parser = duration)]
    pub refresh_metrics_interval: std::time::Duration,
    /// Time between two updates of pool metrics; they are made when they are read
    #[arg(long, default_value = "5s", value_name = "DURATION", value_parser = duration)]
    pub refresh_prometheus_metrics_interval: std::time::Duration,
    /// Age at which metrics are stale; the saturation detector's parameter sets it
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = duration)]
    pub metrics_staleness_threshold: std::time::Duration,
    #[expect(missing_docs, reason = "the deprecated names explain themselves")]
    #[arg(long, value_name = "NAME", hide = true)]
    pub total_queued_requests_metric: Option<String>,
    #[expect(missing_docs, reason = "the deprecated names explain themselves")]
    #[arg(long, value_name = "NAME", hide = true)]
    pub total_running_requests_metric: Option<String>,
    #[expect(missing_docs, reason = "the deprecated names explain themselves")]
    #[arg(long, value_name = "NAME", hide = true)]
    pub kv_cache_usage_percentage_metric: Option<String>,
    #[expect(missing_docs, reason = "the deprecated names explain themselves")]
    #[arg(long, value_name = "NAME", hide = true)]
    pub lora_info_metric: Option<String>,
    #[expect(missing_docs, reason = "the deprecated names explain themselves")]
    #[arg(long, value_name = "NAME", hide = true)]
    pub cache_info_metric: Option<String>,
    /// Form of the peer's log: `json` or `console`
    #[arg(
        long,
        default_value = "",
        value_name = "FORM",
        hide_default_value = true
    )]
    pub zap_encoder: String,
    /// Level of the peer's log: `debug`, `info`, `error`, or a number
    #[arg(
        long,
        default_value = "",
        value_name = "LEVEL",
        hide_default_value = true
    )]
    pub zap_log_level: String,
    /// No effect
    #[arg(long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    pub zap_devel: bool,
    /// No effect
    #[arg(
        long,
        default_value = "",
        value_name = "LEVEL",
        hide_default_value = true
    )]
    pub zap_stacktrace_level: String,
    /// No effect
    #[arg(
        long,
        default_value = "",
        value_name = "FORM",
        hide_default_value = true
    )]
    pub zap_time_encoding: String,
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    suimon_api::duration::parse_go(text).map_err(|error| error.to_string())
}

// === impl EppArgs ===

impl EppArgs {
    /// `namespace/name` of the pool.
    #[must_use]
    pub fn pool(&self) -> (String, String) {
        let from_environment = || std::env::var("NAMESPACE").ok();
        let given = Some(self.pool_namespace.clone()).filter(|name| !name.is_empty());
        let namespace = given
            .or_else(from_environment)
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "default".to_owned());
        (namespace, self.pool_name.clone())
    }

    /// Filter of the log that the peer's flags ask for, if they ask for more than usual.
    #[must_use]
    pub fn log_filter(&self) -> Option<&'static str> {
        match (self.peer.zap_log_level.as_str(), self.peer.verbosity) {
            ("error", _) => Some("error"),
            ("debug", _) | ("", 4) => Some("suimon=debug,info"),
            ("", 5..) => Some("trace"),
            _ => None,
        }
    }
}
