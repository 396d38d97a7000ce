//! `cargo xtask gen`: schema and reference pages, written by the binary that they describe, and the
//! lints that crates share.

mod about;
mod lints;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::repo::{Repo, files_below, run_to_end};

/// Folders that hold nothing but generated files of this kind.
const GENERATED: [(&str, &str); 2] = [("schema", "json"), ("docs/reference", "md")];

/// How many differences are worth listing; past that the cause is one and the same.
const SHOWN: usize = 20;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask gen\n  cargo xtask gen --check")]
pub(crate) struct Args {
    /// Change nothing; fail if a committed file differs
    #[arg(long)]
    pub(crate) check: bool,
}

/// Writes, or with `--check` compares, everything that is generated.
pub(crate) fn run(repo: &Repo, args: &Args) -> anyhow::Result<()> {
    let out = repo.path("target/xtask-gen");
    if out.exists() {
        fs::remove_dir_all(&out).context("cannot empty target/xtask-gen")?;
    }
    fs::create_dir_all(&out).context("cannot create target/xtask-gen")?;
    let mut schema = repo.cargo();
    schema
        .args(["run", "--quiet", "-p", "suimon", "--", "schema", "--out"])
        .arg(&out);
    run_to_end(&mut schema)?;

    let mut fresh = read_all(&out)?;
    if fresh.is_empty() {
        bail!(
            "`suimon schema` wrote no file; it should write schema/*.json and docs/reference/*.md"
        );
    }
    about::complete(repo, &mut fresh)?;
    fresh.extend(lints::files(repo)?);
    let committed = committed(&repo.path("."), &fresh)?;
    let changes = compare(&committed, &fresh);
    if args.check {
        return report(&changes, fresh.len());
    }
    apply(&repo.path("."), &changes, &fresh)?;
    println!("gen: {} files, {} changed", fresh.len(), changes.len());
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Change {
    Missing(PathBuf),
    /// With the first line that differs, from 1.
    Differs(PathBuf, usize),
    Stale(PathBuf),
}

fn read_all(root: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for (folder, kind) in GENERATED {
        let wanted = |path: &Path| path.extension().is_some_and(|extension| extension == kind);
        for path in files_below(&root.join(folder), &wanted)? {
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
            files.insert(path.strip_prefix(root)?.to_path_buf(), bytes);
        }
    }
    Ok(files)
}

/// What the checkout has of the generated folders and, beyond them, of the `fresh` files.
fn committed(
    root: &Path,
    fresh: &BTreeMap<PathBuf, Vec<u8>>,
) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = read_all(root)?;
    for path in fresh.keys() {
        let file = root.join(path);
        if !files.contains_key(path) && file.exists() {
            let bytes =
                fs::read(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
            files.insert(path.clone(), bytes);
        }
    }
    Ok(files)
}

fn compare(
    committed: &BTreeMap<PathBuf, Vec<u8>>,
    fresh: &BTreeMap<PathBuf, Vec<u8>>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, bytes) in fresh {
        match committed.get(path) {
            None => changes.push(Change::Missing(path.clone())),
            Some(old) if old != bytes => {
                changes.push(Change::Differs(path.clone(), first_difference(old, bytes)));
            }
            Some(_) => {}
        }
    }
    let stale = committed.keys().filter(|path| !fresh.contains_key(*path));
    changes.extend(stale.map(|path| Change::Stale(path.clone())));
    changes
}

fn first_difference(old: &[u8], new: &[u8]) -> usize {
    let lines = |bytes: &[u8]| {
        bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect()
    };
    let (old, new): (Vec<_>, Vec<_>) = (lines(old), lines(new));
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    same + 1
}

fn report(changes: &[Change], files: usize) -> anyhow::Result<()> {
    println!("gen: {files} generated files compared with the committed ones");
    for change in changes.iter().take(SHOWN) {
        match change {
            Change::Missing(path) => eprintln!("gen: `{}` is missing", path.display()),
            Change::Differs(path, line) => {
                eprintln!("gen: `{}` differs from line {line} on", path.display());
            }
            Change::Stale(path) => {
                eprintln!("gen: `{}` is no longer generated", path.display());
            }
        }
    }
    if changes.is_empty() {
        return Ok(());
    }
    bail!(
        "{} generated files are out of date; run `cargo xtask gen` and commit what it writes",
        changes.len()
    )
}

fn apply(
    root: &Path,
    changes: &[Change],
    fresh: &BTreeMap<PathBuf, Vec<u8>>,
) -> anyhow::Result<()> {
    for change in changes {
        match change {
            Change::Missing(path) | Change::Differs(path, _) => {
                let target = root.join(path);
                if let Some(folder) = target.parent() {
                    fs::create_dir_all(folder)?;
                }
                let bytes = fresh.get(path).map_or(&[][..], Vec::as_slice);
                fs::write(&target, bytes)
                    .with_context(|| format!("cannot write `{}`", target.display()))?;
            }
            Change::Stale(path) => fs::remove_file(root.join(path))
                .with_context(|| format!("cannot remove `{}`", path.display()))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;

    use super::{Change, apply, committed, compare};

    fn files(entries: &[(&str, &str)]) -> BTreeMap<PathBuf, Vec<u8>> {
        entries
            .iter()
            .map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn every_kind_of_difference_is_seen() {
        let committed = files(&[("schema/a.json", "1\n2\n"), ("schema/old.json", "")]);
        let fresh = files(&[("schema/a.json", "1\n3\n"), ("docs/reference/b.md", "b")]);
        let expected = [
            Change::Missing("docs/reference/b.md".into()),
            Change::Differs("schema/a.json".into(), 2),
            Change::Stale("schema/old.json".into()),
        ];
        assert_eq!(compare(&committed, &fresh), expected);
    }

    #[test]
    fn after_apply_nothing_differs() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("schema")).unwrap();
        fs::write(root.path().join("schema/old.json"), "x").unwrap();
        fs::write(root.path().join("schema/hand.txt"), "kept").unwrap();
        let fresh = files(&[
            ("schema/a.json", "1"),
            ("docs/reference/x/b.md", "b"),
            ("crates/x/clippy.toml", "c"),
        ]);
        let changes = compare(&committed(root.path(), &fresh).unwrap(), &fresh);
        apply(root.path(), &changes, &fresh).unwrap();
        assert_eq!(committed(root.path(), &fresh).unwrap(), fresh);
        assert!(root.path().join("schema/hand.txt").exists());
    }
}
