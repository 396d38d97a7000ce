//! Commands and flags.

pub mod bbr;
pub mod epp;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use suimon_picker::Registry;

use crate::{check, schema, wire};

/// Sends each request to the model server that serves it best, and shows why.
#[derive(Debug, Parser)]
#[command(
    name = "suimon",
    version,
    after_help = "\
Examples:
  suimon up                                          three simulated replicas behind a gateway
  suimon up --endpoint http://10.0.0.5:8000 --endpoint http://10.0.0.6:8000
  suimon gateway --config gateway.yaml               Kubernetes documents from a file or folder
  suimon epp --pool-name pool --config-file epp.yaml the picker alone, behind Envoy
  suimon check gateway.yaml --effective              what a configuration amounts to"
)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
    /// Log filter, as in `info` or `suimon_proxy=debug,warn`; the environment variable SUIMON_LOG
    /// does the same
    #[arg(long, global = true, value_name = "FILTER", help_heading = "Log")]
    pub log: Option<String>,
    /// Log lines as JSON
    #[arg(long, global = true, help_heading = "Log")]
    pub log_json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a gateway in front of model servers, simulated ones if none are named
    Up(UpArgs),
    /// Run a gateway from Kubernetes documents in a file or folder
    Gateway(GatewayArgs),
    /// Run the endpoint picker alone, behind Envoy or any gateway that speaks its external processing
    Epp(Box<epp::EppArgs>),
    /// Put the model of each request's body into headers, for the routes of other people's gateways
    Bbr(Box<bbr::BbrArgs>),
    /// Validate documents and show what they amount to
    Check(CheckArgs),
    /// Run one simulated model server
    Sim(Box<SimArgs>),
    /// Write schemas and reference docs
    #[command(hide = true)]
    Schema(SchemaArgs),
}

/// The admin server.
#[derive(Debug, Clone, Args)]
pub struct AdminArgs {
    /// Port of metrics, readiness, JSON and dashboard
    #[arg(long, default_value_t = 9900, value_name = "PORT")]
    pub admin_port: u16,
    /// Address of the admin server
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub admin_address: IpAddr,
}

/// Limits of the data plane.
#[derive(Debug, Clone, Args)]
pub struct DataPlaneArgs {
    /// Largest request body in MiB; a larger one gets 413
    #[arg(long, default_value_t = 32, value_name = "MIB", value_parser = between::<1, 4096>)]
    pub max_body_mib: usize,
    /// Largest sum of all request bodies in memory in MiB; beyond it requests get 503
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = between::<1, 1_048_576>)]
    pub max_bodies_mib: usize,
    /// Seconds that running requests get to end after SIGTERM or Ctrl-C
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub drain_timeout: u64,
    /// Threads that serve requests; one a core by default
    #[arg(long, value_name = "N", value_parser = between::<1, 1024>)]
    pub workers: Option<usize>,
    /// Form of the access log, one line a request on standard error
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub access_log: AccessLogFormat,
    /// Newest decisions that are kept for the dashboard
    #[arg(long, default_value_t = 256, value_name = "N", value_parser = between::<0, 10_000>)]
    pub keep_decisions: usize,
    /// Where random choices of pickers start, so that the same requests in the same order are picked
    /// alike; by default anywhere
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Form of the access log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum AccessLogFormat {
    /// `key=value`
    #[default]
    Text,
    /// One JSON object a line
    Json,
    /// None
    Off,
}

/// `suimon up`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  suimon up
  suimon up --replicas 5 --model my-model
  suimon up --endpoint http://127.0.0.1:8001 --endpoint http://127.0.0.1:8002")]
pub struct UpArgs {
    /// A model server, as http://HOST:PORT; repeat it for each. The engine is recognised by its
    /// metrics. Without any, simulated replicas are started
    #[arg(long = "endpoint", value_name = "URL")]
    pub endpoints: Vec<String>,
    /// Port of the gateway
    #[arg(long, default_value_t = 8080, value_name = "PORT")]
    pub port: u16,
    /// Address of the gateway; 0.0.0.0 makes it reachable from outside
    #[arg(long, default_value = "127.0.0.1", value_name = "IP")]
    pub address: IpAddr,
    /// Number of simulated replicas
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub replicas: u16,
    /// Model of the simulated replicas
    #[arg(
        long,
        default_value = "meta-llama/Llama-3.1-8B-Instruct",
        value_name = "NAME"
    )]
    pub model: String,
    /// LoRA adapters of the simulated replicas; repeat it for each
    #[arg(long = "lora", value_name = "NAME")]
    pub loras: Vec<String>,
    /// File with an EndpointPickerConfig, in place of the built-in default
    #[arg(long, value_name = "FILE")]
    pub picker_config: Option<PathBuf>,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub admin: AdminArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub data_plane: DataPlaneArgs,
}

/// `suimon gateway`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  suimon gateway --config gateway.yaml
  suimon gateway --config manifests/ --admin-port 9901

The file or folder is watched. A change takes effect at once and drops no request; a broken one is
named in the log and leaves the last good configuration in force.")]
pub struct GatewayArgs {
    /// File or folder of YAML documents: Gateway, HTTPRoute, InferencePool, Service, Pod, …
    #[arg(long, value_name = "PATH")]
    pub config: PathBuf,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub admin: AdminArgs,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub data_plane: DataPlaneArgs,
}

/// `suimon check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  suimon check manifests/
  suimon check picker.yaml --effective
  suimon check new.yaml --diff old.yaml")]
pub struct CheckArgs {
    /// File or folder to validate: Kubernetes documents, or one EndpointPickerConfig
    pub path: PathBuf,
    /// Print the picker configuration in force, with the reason for each line that was implied
    #[arg(long)]
    pub effective: bool,
    /// Compare the picker configuration in force with that of another file or folder
    #[arg(long, value_name = "OLD")]
    pub diff: Option<PathBuf>,
}

/// `suimon sim`.
#[derive(Debug, Clone, Args)]
pub struct SimArgs {
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show it as the help text of the group"
    )]
    pub sim: suimon_sim::Args,
    /// Port of an admin server with /live and /ready; none without it. Metrics are on the
    /// simulator's own port, as of a real server
    #[arg(long, value_name = "PORT")]
    pub admin_port: Option<u16>,
}

/// `suimon schema`.
#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// A number from `MIN` to `MAX`.
fn between<const MIN: usize, const MAX: usize>(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (MIN..=MAX).contains(number));
    number.ok_or_else(|| format!("accepted is a number from {MIN} to {MAX}"))
}

// === impl Command ===

impl Command {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// Whatever ended it before.
    pub fn run(self, registry: Registry) -> anyhow::Result<ExitCode> {
        match self {
            Self::Up(args) => wire::up::run(&args, registry).map(|()| ExitCode::SUCCESS),
            Self::Gateway(args) => wire::gateway::run(&args, registry).map(|()| ExitCode::SUCCESS),
            Self::Epp(args) => wire::epp::run(&args, registry).map(|()| ExitCode::SUCCESS),
            Self::Bbr(args) => wire::bbr::run(&args).map(|()| ExitCode::SUCCESS),
            Self::Check(args) => check::run(&args, &registry),
            Self::Sim(args) => wire::sim::run(*args).map(|()| ExitCode::SUCCESS),
            Self::Schema(args) => schema::write(&args.out, &registry).map(|()| ExitCode::SUCCESS),
        }
    }
}
