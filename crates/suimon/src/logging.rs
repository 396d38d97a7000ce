//! Log output.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::cli::{Cli, Command};

/// Variable with a log filter.
const FILTER: &str = "SUIMON_LOG";

/// Starts logging to standard error. A filter that cannot be read is named and replaced by `info`.
pub(crate) fn start(cli: &Cli) {
    let written = cli.log.clone().or_else(|| std::env::var(FILTER).ok());
    let logs = match &cli.command {
        Command::Epp(args) => Some(&args.logs),
        Command::Bbr(args) => Some(&args.logs),
        _ => None,
    };
    let usual = logs.map_or("info", |logs| logs.filter());
    let filter = written.as_deref().unwrap_or(usual);
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|error| {
        eprintln!("log filter `{filter}`: {error}; `info` is used, or as in `suimon_proxy=debug`");
        EnvFilter::new("info")
    });
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    // Only a program that embeds this crate can have set one before; then its own stays.
    let json = logs.is_some_and(|logs| logs.zap_encoder.as_deref() == Some("json"));
    let _ = if cli.log_json || json {
        log.json().try_init()
    } else {
        log.try_init()
    };
}
