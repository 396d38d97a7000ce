//! The lints of crates that do no IO: a crate's own `clippy.toml` replaces that of the root, so it
//! is made of the root's text and the list that such crates share.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::Context;

use crate::deps;
use crate::repo::Repo;

/// What is put behind the root's settings.
const SHARED: &str = "crates/xtask/no-io.toml";

/// One `clippy.toml` for each crate that must not see a runtime.
pub(super) fn files(repo: &Repo) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let read = |path: &str| {
        fs::read_to_string(repo.path(path)).with_context(|| format!("cannot read `{path}`"))
    };
    let text = format!(
        "# Written by `cargo xtask gen` from clippy.toml and {SHARED}.\n\n{}\n{}",
        read("clippy.toml")?,
        read(SHARED)?
    );
    let file = |name: String| {
        let folder = name.strip_prefix("suimon-").unwrap_or(&name);
        let path = PathBuf::from(format!("crates/{folder}/clippy.toml"));
        (path, text.clone().into_bytes())
    };
    Ok(deps::without_runtime(repo)?.into_iter().map(file).collect())
}
