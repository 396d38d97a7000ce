//! The `suimon` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    suimon::run(&[])
}
