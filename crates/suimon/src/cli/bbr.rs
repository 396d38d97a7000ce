//! Flags of `suimon bbr`: those of the peer's body-based routing, and a few of our own.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::between;
use super::epp::{LogArgs, TlsArgs, span, truth};

/// `suimon bbr`.
#[derive(Debug, Clone, Args)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  suimon bbr
  suimon bbr --lora-map adapters.yaml --strict
  suimon bbr --secure-serving=false --address 127.0.0.1

The model of each request's body goes into X-Gateway-Model-Name, and its base model by the LoRA map into
X-Gateway-Base-Model-Name. The map is a file or folder of ConfigMaps with the label
inference.networking.k8s.io/bbr-managed: \"true\" and the keys baseModel and adapters; it is watched."
)]
pub struct BbrArgs {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub routing: RoutingArgs,
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
}

/// What becomes of requests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Routing")]
pub struct RoutingArgs {
    /// File or folder of ConfigMaps with the adapters of each base model
    #[arg(long, value_name = "PATH")]
    pub lora_map: Option<PathBuf>,
    /// Refuse a body without a model with 400; otherwise it goes on without the headers
    #[arg(long, default_value_t = false, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = ArgAction::Set, value_name = "BOOL")]
    pub strict: bool,
}

/// Ports, TLS, ending.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Serving")]
pub struct ServingArgs {
    /// Address of all ports; by default all addresses of the machine
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
    /// Port of external processing
    #[arg(long, default_value_t = 9004, value_name = "PORT")]
    pub grpc_port: u16,
    /// Port of the gRPC health service, in plaintext
    #[arg(long, default_value_t = 9005, value_name = "PORT")]
    pub grpc_health_port: u16,
    /// Port of metrics and readiness
    #[arg(long, default_value_t = 9090, value_name = "PORT")]
    pub metrics_port: u16,
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

/// Limits.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Largest request body that is read in MiB; a larger one gets 413
    #[arg(long, default_value_t = 32, value_name = "MIB", value_parser = between::<1, 4096>)]
    pub max_body_mib: usize,
    /// Largest sum of all request bodies in memory in MiB; beyond it requests get 503
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = between::<1, 1_048_576>)]
    pub max_bodies_mib: usize,
    /// Threads that serve requests; one a core by default
    #[arg(long, value_name = "N", value_parser = between::<1, 1024>)]
    pub workers: Option<usize>,
}

/// Flags of the peer that change nothing here, or end the start with a reason.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accepted from the peer, without effect")]
pub struct InertArgs {
    /// How bodies come; the proxy says so itself with each request
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub streaming: Option<bool>,
    /// Traces; not there yet
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub tracing: Option<bool>,
    /// Profiles of the process
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub enable_pprof: Option<bool>,
    /// Access to metrics by Kubernetes accounts; without a cluster there is none
    #[arg(long, value_parser = truth, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    pub metrics_endpoint_auth: Option<bool>,
    /// The peer's plugins; the two that it has by default are built in, others are refused
    #[arg(long = "plugin", hide = true)]
    pub plugins: Vec<String>,
}
