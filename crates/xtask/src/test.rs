//! `cargo xtask test`: everything that must pass before a merge.

mod tools;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::bail;

use self::tools::Tools;
use crate::repo::{Repo, files_below, run_to_end};
use crate::{budget, deps, generate};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    cargo xtask test            everything; installs Chromium, the openai client, Envoy and node if missing\n  \
    cargo xtask test --quick    installs nothing; without the tests that need the first three\n\n\
    A test that drives a browser has `needs_chromium` in its name and reads the environment\n\
    variable CHROMIUM; one that drives the openai client has `needs_openai` and reads OPENAI_PYTHON;\n\
    one that runs Envoy has `needs_envoy` and reads ENVOY.")]
pub(crate) struct Args {
    /// Install nothing and leave out the tests that need a browser, the openai client or Envoy
    #[arg(long)]
    quick: bool,
}

/// Runs every step, also after one has failed, and ends with a table of them.
pub(crate) fn run(repo: &Repo, args: &Args) -> anyhow::Result<()> {
    let mut steps = Steps::default();
    let mut tools = Tools::present();
    if args.quick {
        steps.skip("tools", "--quick: without browser, openai and envoy tests");
    } else {
        steps.run("chromium", || tools.find_chromium(repo));
        steps.run("openai client", || tools.find_openai(repo));
        steps.run("envoy", || tools.find_envoy(repo));
        steps.run("node", || tools.find_node(repo));
    }
    steps.run("fmt", || {
        run_to_end(repo.cargo().args(["fmt", "--all", "--", "--check"]))
    });
    steps.run("deps", || deps::run(repo));
    steps.run("budget", || budget::run(repo));
    steps.run("gen --check", || {
        generate::run(repo, &generate::Args { check: true })
    });
    steps.run("clippy", || {
        let clippy = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ];
        run_to_end(repo.cargo().args(clippy))
    });
    steps.run("cargo test", || cargo_test(repo, &tools));
    run_script_tests(repo, &tools, &mut steps)?;
    steps.finish()
}

fn cargo_test(repo: &Repo, tools: &Tools) -> anyhow::Result<()> {
    let mut command = repo.cargo();
    command.args(["test", "--workspace", "--no-fail-fast", "--"]);
    match &tools.chromium {
        Some(path) => command.env("CHROMIUM", path),
        None => command.args(["--skip", "needs_chromium"]),
    };
    match &tools.openai_python {
        Some(path) => command.env("OPENAI_PYTHON", path),
        None => command.args(["--skip", "needs_openai"]),
    };
    match &tools.envoy {
        Some(path) => command.env("ENVOY", path),
        None => command.args(["--skip", "needs_envoy"]),
    };
    run_to_end(&mut command)
}

fn run_script_tests(repo: &Repo, tools: &Tools, steps: &mut Steps) -> anyhow::Result<()> {
    let name = "dashboard scripts";
    let wanted = |path: &std::path::Path| path.to_string_lossy().ends_with(".test.mjs");
    let scripts: Vec<PathBuf> = files_below(&repo.path("crates"), &wanted)?;
    match (&tools.node, scripts.is_empty()) {
        (_, true) => steps.skip(name, "no *.test.mjs below crates/"),
        (None, false) => steps.skip(name, "node is not installed"),
        (Some(node), false) => {
            steps.run(name, || {
                run_to_end(repo.command(node).arg("--test").args(&scripts))
            });
        }
    }
    Ok(())
}

#[derive(Default)]
struct Steps {
    done: Vec<Step>,
}

struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(&'static str),
}

// === impl Steps ===

impl Steps {
    fn run(&mut self, name: &'static str, step: impl FnOnce() -> anyhow::Result<()>) {
        println!("\n=== {name}");
        let started = Instant::now();
        let outcome = match step() {
            Ok(()) => Outcome::Passed,
            Err(error) => {
                eprintln!("{name}: {error:#}");
                Outcome::Failed(format!("{error:#}"))
            }
        };
        self.done.push(Step {
            name,
            outcome,
            took: started.elapsed(),
        });
    }

    fn skip(&mut self, name: &'static str, why: &'static str) {
        self.done.push(Step {
            name,
            outcome: Outcome::Skipped(why),
            took: Duration::ZERO,
        });
    }

    fn finish(&self) -> anyhow::Result<()> {
        println!("\n{:<18} {:<8} {:>8}", "step", "result", "seconds");
        for step in &self.done {
            println!("{}", step.line());
        }
        let failed = self
            .done
            .iter()
            .filter(|step| matches!(step.outcome, Outcome::Failed(_)));
        match failed.count() {
            0 => {
                println!("\nall passed");
                Ok(())
            }
            failed => bail!("{failed} of {} steps failed", self.done.len()),
        }
    }
}

// === impl Step ===

impl Step {
    fn line(&self) -> String {
        let (result, note) = match &self.outcome {
            Outcome::Passed => ("passed", ""),
            Outcome::Failed(why) => ("FAILED", why.lines().next().unwrap_or_default()),
            Outcome::Skipped(why) => ("skipped", *why),
        };
        let line = format!(
            "{:<18} {result:<8} {:>8.1}  {note}",
            self.name,
            self.took.as_secs_f64()
        );
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::Steps;

    #[test]
    fn one_failed_step_fails_the_run_and_stops_nothing() {
        let mut steps = Steps::default();
        steps.run("first", || bail!("broken\nmore"));
        steps.run("second", || Ok(()));
        steps.skip("third", "not here");
        assert!(steps.done[0].line().ends_with("broken"));
        assert!(
            steps.done[1]
                .line()
                .starts_with("second             passed")
        );
        let error = steps.finish().unwrap_err();
        assert_eq!(error.to_string(), "1 of 3 steps failed");
    }

    #[test]
    fn skipped_steps_do_not_fail_the_run() {
        let mut steps = Steps::default();
        steps.skip("only", "not here");
        assert!(steps.finish().is_ok());
    }
}
