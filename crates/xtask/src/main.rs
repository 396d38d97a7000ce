//! Developer commands: what people and CI run to build, check and measure the workspace.
//!
//! | file | command |
//! |---|---|
//! | [`deps`] | who may depend on whom |
//! | [`budget`] | sizes of files, functions and crates |
//! | [`generate`] | schema, reference pages and lints that are written by a command |
//! | [`mod@test`] | everything that must pass before a merge |
//! | [`mod@bench`] | criterion medians against their bars |
//! | [`fuzz`] | the fuzz targets for a given time |
//! | [`new_plugin`] | the skeleton of a plugin and its catalogue line |
//! | [`repo`] | the checkout: its root, its programs |

#![forbid(unsafe_code)]

mod bench;
mod budget;
mod deps;
mod fuzz;
mod generate;
mod new_plugin;
mod repo;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::repo::Repo;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of suimon", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check that crates depend only on what crates/xtask/deps.toml allows
    Deps,
    /// Check sizes of files, functions and crates against crates/xtask/budget.toml
    Budget,
    /// Write schema/, docs/reference/ and the clippy.toml of crates without IO
    Gen(generate::Args),
    /// Run everything that must pass before a merge; installs what the tests need
    Test(test::Args),
    /// Run benchmarks and compare their medians with crates/xtask/bench.toml
    Bench(bench::Args),
    /// Run a fuzz target for a while
    Fuzz(fuzz::Args),
    /// Write the skeleton of a plugin and its catalogue line
    NewPlugin(new_plugin::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let repo = Repo::find()?;
    match command {
        Command::Deps => deps::run(&repo),
        Command::Budget => budget::run(&repo),
        Command::Gen(args) => generate::run(&repo, &args),
        Command::Test(args) => test::run(&repo, &args),
        Command::Bench(args) => bench::run(&repo, &args),
        Command::Fuzz(args) => fuzz::run(&repo, &args),
        Command::NewPlugin(args) => new_plugin::run(&repo, &args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
