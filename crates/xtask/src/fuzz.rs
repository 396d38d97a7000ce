//! `cargo xtask fuzz`: the fuzz targets for a given time, on the pinned stable toolchain.

use anyhow::bail;

use crate::repo::{Repo, files_below, run_to_end};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask fuzz sse\n  cargo xtask fuzz all --seconds 600\n\n\
    A failure prints BOLERO_RANDOM_SEED; set it to see the same failure again with\n  \
    BOLERO_RANDOM_SEED=N cargo test -p suimon-fuzz --test TARGET"
)]
pub(crate) struct Args {
    /// A file name of fuzz/tests without `.rs`, or `all`
    target: String,
    /// How long each target runs
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

/// Runs one target or all of them one after the other.
pub(crate) fn run(repo: &Repo, args: &Args) -> anyhow::Result<()> {
    let known = targets(repo)?;
    let chosen: Vec<&String> = known
        .iter()
        .filter(|name| args.target == "all" || **name == args.target)
        .collect();
    if chosen.is_empty() {
        bail!(
            "no fuzz target `{}`; known: {}, all",
            args.target,
            known.join(", ")
        );
    }
    for target in &chosen {
        let mut test = repo.cargo();
        test.args(["test", "-p", "suimon-fuzz", "--profile", "fuzz", "--test"])
            .arg(target)
            // Uncaptured, the engine tells how many inputs it tried.
            .args(["--", "--nocapture"])
            .env(
                "BOLERO_RANDOM_TEST_TIME_MS",
                (args.seconds * 1000).to_string(),
            );
        run_to_end(&mut test)?;
    }
    println!(
        "fuzz: {} targets survived {} s each",
        chosen.len(),
        args.seconds
    );
    Ok(())
}

fn targets(repo: &Repo) -> anyhow::Result<Vec<String>> {
    let rust = |path: &std::path::Path| path.extension().is_some_and(|kind| kind == "rs");
    let files = files_below(&repo.path("fuzz/tests"), &rust)?;
    let stems = files.iter().filter_map(|path| path.file_stem());
    Ok(stems
        .map(|stem| stem.to_string_lossy().into_owned())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::targets;
    use crate::repo::Repo;

    #[test]
    fn each_target_has_seeds() {
        let repo = Repo::find().unwrap();
        let targets = targets(&repo).unwrap();
        assert!(targets.contains(&"sse".to_owned()), "{targets:?}");
        for target in targets {
            let corpus = repo.path("fuzz/corpus").join(&target);
            assert!(
                corpus.read_dir().is_ok_and(|mut dir| dir.next().is_some()),
                "{target}"
            );
        }
    }
}
