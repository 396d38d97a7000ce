//! `cargo xtask bench`: criterion medians against their bars.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::repo::{Repo, files_below, run_to_end};

/// Crates with benchmarks of what is inside the process.
const CRATES: [&str; 4] = [
    "suimon-llm",
    "suimon-kvindex",
    "suimon-plugins",
    "suimon-datalayer",
];

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench pick/standard")]
pub(crate) struct Args {
    /// Only benchmarks whose name contains this
    filter: Option<String>,
}

/// Runs the benchmarks and prints their medians beside the bars of `bench.toml`.
pub(crate) fn run(repo: &Repo, args: &Args) -> anyhow::Result<()> {
    let table: Table = repo.table("bench.toml")?;
    let started = SystemTime::now();
    let mut bench = repo.cargo();
    bench.arg("bench");
    for name in CRATES {
        bench.args(["-p", name]);
    }
    if let Some(filter) = &args.filter {
        bench.arg("--").arg(filter);
    }
    run_to_end(&mut bench)?;
    let results = repo.metadata()?.target_directory.join("criterion");
    let medians = medians(results.as_std_path(), started)?;
    let faults = table.compare(&medians, args.filter.as_deref());
    if faults.is_empty() {
        return Ok(());
    }
    for fault in &faults {
        eprintln!("bench: {fault}");
    }
    bail!(
        "{} benchmarks miss their bar; the bars are in crates/xtask/bench.toml",
        faults.len()
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    bench: Vec<Bar>,
}

/// What one benchmark must reach; times in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bar {
    name: String,
    what: String,
    bar: f64,
    stretch: f64,
}

// === impl Table ===

impl Table {
    fn compare(&self, medians: &BTreeMap<String, f64>, filter: Option<&str>) -> Vec<String> {
        let bars: BTreeMap<&str, &Bar> = self
            .bench
            .iter()
            .map(|bar| (bar.name.as_str(), bar))
            .collect();
        let mut faults = Vec::new();
        println!(
            "\n{:<40} {:>12} {:>10} {:>10}",
            "benchmark", "median µs", "bar", "stretch"
        );
        for (name, median) in medians {
            let Some(bar) = bars.get(name.as_str()) else {
                println!("{name:<40} {median:>12.2} {:>10} {:>10}", "-", "-");
                continue;
            };
            let verdict = bar.verdict(*median);
            println!(
                "{name:<40} {median:>12.2} {:>10} {:>10}  {verdict}",
                bar.bar, bar.stretch
            );
            if *median > bar.bar {
                faults.push(format!(
                    "`{name}` takes {median:.2} µs, bar {} ({})",
                    bar.bar, bar.what
                ));
            }
        }
        let asked = |bar: &&Bar| filter.is_none_or(|filter| bar.name.contains(filter));
        let missing = self
            .bench
            .iter()
            .filter(asked)
            .filter(|b| !medians.contains_key(&b.name));
        faults.extend(missing.map(|bar| format!("`{}` was not measured ({})", bar.name, bar.what)));
        faults
    }
}

// === impl Bar ===

impl Bar {
    fn verdict(&self, median: f64) -> &'static str {
        if median > self.bar {
            "over the bar"
        } else if median > self.stretch {
            "ok"
        } else {
            "ok, within stretch"
        }
    }
}

/// Medians in microseconds by full id, of what was measured since `started`.
fn medians(results: &Path, started: SystemTime) -> anyhow::Result<BTreeMap<String, f64>> {
    let wanted = |path: &Path| path.ends_with("new/estimates.json");
    let mut medians = BTreeMap::new();
    for path in files_below(results, &wanted)? {
        if fs::metadata(&path)?.modified()? < started {
            continue;
        }
        let estimates: Estimates = read(&path)?;
        let benchmark: Benchmark = read(&path.with_file_name("benchmark.json"))?;
        medians.insert(benchmark.full_id, estimates.median.point_estimate / 1000.0);
    }
    Ok(medians)
}

/// The part of criterion's `estimates.json` that is used; nanoseconds.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// The part of criterion's `benchmark.json` that is used.
#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("cannot parse `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::time::{Duration, SystemTime};

    use super::{Table, medians};

    const TABLE: &str = r#"
        [[bench]]
        name = "pick/100"
        what = "one pick"
        bar = 50.0
        stretch = 25.0
        [[bench]]
        name = "scan"
        what = "one scan"
        bar = 1.0
        stretch = 0.5
    "#;

    fn faults(measured: &[(&str, f64)], filter: Option<&str>) -> Vec<String> {
        let table: Table = toml::from_str(TABLE).unwrap();
        let medians: BTreeMap<String, f64> = measured
            .iter()
            .map(|(name, median)| ((*name).to_owned(), *median))
            .collect();
        table.compare(&medians, filter)
    }

    #[test]
    fn a_bar_is_missed_or_kept() {
        assert!(faults(&[("pick/100", 50.0), ("scan", 0.2), ("other", 9.0)], None).is_empty());
        assert_eq!(faults(&[("pick/100", 50.1), ("scan", 0.2)], None).len(), 1);
    }

    #[test]
    fn a_bar_that_was_asked_for_must_be_measured() {
        assert_eq!(
            faults(&[("pick/100", 1.0)], None),
            ["`scan` was not measured (one scan)"]
        );
        assert!(faults(&[("pick/100", 1.0)], Some("pick")).is_empty());
    }

    #[test]
    fn criterion_files_are_read_in_microseconds_and_old_ones_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("pick/100/new");
        fs::create_dir_all(&new).unwrap();
        fs::write(
            new.join("estimates.json"),
            r#"{"median":{"point_estimate":1500.0},"x":1}"#,
        )
        .unwrap();
        fs::write(
            new.join("benchmark.json"),
            r#"{"full_id":"pick/100","group_id":"pick"}"#,
        )
        .unwrap();
        let before = SystemTime::UNIX_EPOCH;
        assert_eq!(medians(folder.path(), before).unwrap()["pick/100"], 1.5);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(medians(folder.path(), later).unwrap().is_empty());
    }
}
