//! Flags of `suimon epp`: those of the llm-d endpoint picker, and a few of our own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use suimon_api::duration::parse_go;

use super::between;

/// `suimon epp`.
#[derive(Debug, Clone, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  suimon epp --pool-name my-pool --config-file epp.yaml
  suimon epp --pool-name my-pool --config-file epp.yaml --secure-serving=false --metrics-port 9091

The flags are those of the llm-d endpoint picker. Endpoints come from the discovery plugin that the
configuration names in dataLayer.discovery, for example file-discovery."
)]
pub struct EppArgs {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub pool: PoolArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub serving: ServingArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub picking: PickingArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub limits: LimitArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub logs: LogArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub without_effect: InertArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub refused: RefusedArgs,
}

/// Which pool, and where its configuration is.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pool")]
pub struct PoolArgs {
    /// Name of the pool
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "NAME"
    )]
    pub pool_name: String,
    /// Namespace of the pool; otherwise the environment variable NAMESPACE, then `default`
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "NAME"
    )]
    pub pool_namespace: String,
    /// API group of the pool
    #[arg(
        long,
        default_value = "inference.networking.k8s.io",
        value_name = "GROUP"
    )]
    pub pool_group: String,
    /// Labels of Pods to pick from without a pool; needs a cluster, which is not supported yet
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "LABELS"
    )]
    pub endpoint_selector: String,
    /// Ports of the Pods of --endpoint-selector
    #[arg(long, value_delimiter = ',', value_name = "PORTS")]
    pub endpoint_target_ports: Vec<i64>,
    /// File with the EndpointPickerConfig
    #[arg(long, value_name = "FILE")]
    pub config_file: Option<PathBuf>,
    /// The EndpointPickerConfig itself
    #[arg(long, value_name = "YAML")]
    pub config_text: Option<String>,
    /// Take plugins that are experimental
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub allow_experimental_plugins: bool,
}

/// Ports, TLS, health, ending.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Serving")]
pub struct ServingArgs {
    /// Address of all ports; by default all addresses of the machine
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
    /// Port of external processing
    #[arg(long, default_value_t = 9002, value_name = "PORT")]
    pub grpc_port: u16,
    /// Port of the gRPC health service, in plaintext
    #[arg(long, default_value_t = 9003, value_name = "PORT")]
    pub grpc_health_port: u16,
    /// Port of metrics, readiness, JSON and dashboard
    #[arg(long, default_value_t = 9090, value_name = "PORT")]
    pub metrics_port: u16,
    /// The gRPC health service on the port of external processing too
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub health_checking: bool,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub tls: TlsArgs,
    /// How long new requests are taken after SIGTERM or Ctrl-C while health says NOT_SERVING, and
    /// after that how long open ones get to end
    #[arg(long, default_value = "30s", value_parser = span, value_name = "DURATION")]
    pub drain_timeout: Duration,
}

/// TLS of the port of external processing.
#[derive(Debug, Clone, Args)]
pub struct TlsArgs {
    /// TLS on the port of external processing
    #[arg(long, default_value_t = true, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub secure_serving: bool,
    /// Folder with tls.crt and tls.key; otherwise a self-signed certificate is made at the start
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "DIR"
    )]
    pub cert_path: String,
    /// Follow changes of the files in --cert-path
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub enable_cert_reload: bool,
    /// Least version of TLS: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13; below 1.2
    /// there is none here
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "VERSION"
    )]
    pub tls_min_version: String,
    /// Cipher suites of TLS 1.2 by their names in Go; only those with AEAD are there
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub tls_cipher_suites: Vec<String>,
}

/// How endpoints are picked.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Picking")]
pub struct PickingArgs {
    /// Pick from all endpoints, also if the proxy names those that come into question
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub disable_endpoint_subset_filter: bool,
    /// Newest decisions that are kept for the dashboard
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = between::<0, 10_000>)]
    pub keep_decisions: usize,
    /// Where random choices start, so that the same requests in the same order are picked alike; by
    /// default anywhere
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Largest request body in MiB; a larger one gets 413
    #[arg(long, default_value_t = 32, value_name = "MIB", value_parser = between::<1, 4096>)]
    pub max_body_mib: usize,
    /// Largest sum of all request bodies in memory in MiB; beyond it requests get 503
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = between::<1, 1_048_576>)]
    pub max_bodies_mib: usize,
    /// Threads that serve requests; one a core by default
    #[arg(long, value_name = "N", value_parser = between::<1, 1024>)]
    pub workers: Option<usize>,
}

/// The log, where --log says nothing.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct LogArgs {
    /// How much is logged: 2 and 3 as `info`, 4 as `debug`, from 5 as `trace`
    #[arg(
        short,
        long,
        default_value_t = 2,
        value_name = "N",
        allow_negative_numbers = true
    )]
    pub v: i32,
    /// Level of the log in place of -v: debug, info, error or a number
    #[arg(long, value_name = "LEVEL")]
    pub zap_log_level: Option<String>,
    /// Form of the log: json or console
    #[arg(long, value_name = "FORM")]
    pub zap_encoder: Option<String>,
}

/// Flags of the peer that change nothing here, or not yet.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accepted from the llm-d endpoint picker, without effect")]
pub struct InertArgs {
    /// One of several replicas leads; needs a cluster, so this one always does
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub ha_enable_leader_election: bool,
    /// Scores of endpoints in the answer to the proxy; not there yet
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub emit_endpoint_scores: bool,
    /// Metrics of gRPC streams; not there yet
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub enable_grpc_stream_metrics: bool,
    /// Traces; not there yet
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub tracing: Option<bool>,
    /// Profiles of the process
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub enable_pprof: Option<bool>,
    /// Access to metrics by Kubernetes accounts; as with the peer there is none without a cluster
    #[arg(long, default_value_t = true, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub metrics_endpoint_auth: bool,
    /// How often endpoints are scraped; `interval` of metrics-data-source sets it
    #[arg(long, default_value = "50ms", value_parser = span, value_name = "DURATION")]
    pub refresh_metrics_interval: Duration,
    /// How often gauges are brought up to date; here whenever they are read
    #[arg(long, default_value = "5s", value_parser = span, value_name = "DURATION")]
    pub refresh_prometheus_metrics_interval: Duration,
    /// Age past which metrics of an endpoint are unknown
    #[arg(long, default_value = "2s", value_parser = span, value_name = "DURATION")]
    pub metrics_staleness_threshold: Duration,
    /// Longest gRPC message received; bodies come in pieces and --max-body-mib limits them
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "SIZE"
    )]
    pub grpc_max_recv_msg_size: String,
    /// Longest gRPC message sent; pieces of bodies have at most 62,000 bytes
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        value_name = "SIZE"
    )]
    pub grpc_max_send_msg_size: String,
    /// Form of the log for developers
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub zap_devel: Option<bool>,
    /// Level from which stacks are logged
    #[arg(long, value_name = "LEVEL")]
    pub zap_stacktrace_level: Option<String>,
    /// Form of times in the log
    #[arg(long, value_name = "FORM")]
    pub zap_time_encoding: Option<String>,
}

/// Flags of the peer that end the start with a reason.
#[derive(Debug, Clone, Args)]
pub struct RefusedArgs {
    /// Folder with tls.crt and tls.key for the metrics port; not supported yet
    #[arg(long, hide = true, default_value = "")]
    pub metrics_cert_dir: String,
    /// Authorities of clients of the metrics port; not supported yet
    #[arg(long, hide = true, default_value = "")]
    pub metrics_client_ca_file: String,
    /// Deprecated
    #[arg(long, hide = true)]
    pub total_queued_requests_metric: Option<String>,
    /// Deprecated
    #[arg(long, hide = true)]
    pub total_running_requests_metric: Option<String>,
    /// Deprecated
    #[arg(long, hide = true)]
    pub kv_cache_usage_percentage_metric: Option<String>,
    /// Deprecated
    #[arg(long, hide = true)]
    pub lora_info_metric: Option<String>,
    /// Deprecated
    #[arg(long, hide = true)]
    pub cache_info_metric: Option<String>,
}

/// A truth as Go's flags take it.
pub(super) fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("accepted is true or false".to_owned()),
    }
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    parse_go(text).map_err(|error| error.to_string())
}

// === impl LogArgs ===

impl LogArgs {
    /// The filter that these flags amount to.
    #[must_use]
    pub fn filter(&self) -> &'static str {
        let number = match self.zap_log_level.as_deref() {
            Some("error" | "panic" | "fatal") => return "error",
            Some("debug") => 4,
            Some("info") => 2,
            Some(level) => level.parse().unwrap_or(self.v),
            None => self.v,
        };
        match number {
            ..4 => "info",
            4 => "debug",
            5.. => "trace",
        }
    }
}
