//! An inference gateway: one binary for gateway, endpoint picker, simulator and checks.
//!
//! This crate wires the others together and decides nothing itself. A binary with plugins of its own
//! is ten lines: it calls [`run`] with its catalogue.
//!
//! | file | what |
//! |---|---|
//! | [`cli`] | commands and flags |
//! | [`wire`] | files → world → pools and snapshot; the long-running commands |
//! | [`admin`] | metrics, readiness, JSON of pools and decisions, dashboard |
//! | [`observer`] | what the data plane tells, into metrics |
//! | [`check`] | `suimon check` |
//! | [`schema`] | schemas and reference docs from the code |

#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use suimon_picker::Descriptor;
use suimon_picker::registry::DuplicateType;

pub mod admin;
pub mod check;
pub mod cli;
mod logging;
pub mod observer;
pub mod schema;
mod shutdown;
pub mod wire;

/// All plugin types: those of suimon and those of `more`.
///
/// # Errors
/// When two types have the same name.
pub fn registry(more: &[&'static [Descriptor]]) -> Result<suimon_picker::Registry, DuplicateType> {
    let mut catalogues = vec![suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE];
    catalogues.extend_from_slice(more);
    suimon_picker::Registry::new(&catalogues)
}

/// Runs the command line of this process, with further plugins beside those of suimon.
#[must_use]
pub fn run(more: &[&'static [Descriptor]]) -> ExitCode {
    let cli = cli::Cli::parse();
    logging::start(&cli);
    let result = registry(more)
        .map_err(anyhow::Error::from)
        .and_then(|r| cli.command.run(r));
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

/// An error with its causes in one line.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" <- ")
}
