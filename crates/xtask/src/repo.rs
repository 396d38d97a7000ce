//! The checkout that the commands work on.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use serde::de::DeserializeOwned;

/// The root folder of the workspace.
pub(crate) struct Repo {
    root: PathBuf,
}

// === impl Repo ===

impl Repo {
    /// Finds the workspace that this crate is part of.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own
            .ancestors()
            .nth(2)
            .context("crates/xtask has no workspace above it")?;
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    /// A path below the root.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// The path as it is written in messages: relative to the root, with `/`.
    pub(crate) fn name(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        relative.to_string_lossy().replace('\\', "/")
    }

    /// The members of the workspace with what they declare; dependencies are not resolved.
    pub(crate) fn metadata(&self) -> anyhow::Result<Metadata> {
        MetadataCommand::new()
            .manifest_path(self.path("Cargo.toml"))
            .no_deps()
            .exec()
            .context("`cargo metadata` failed")
    }

    /// Reads a table of this crate, for example `deps.toml`.
    pub(crate) fn table<T: DeserializeOwned>(&self, file: &str) -> anyhow::Result<T> {
        let path = self.path("crates/xtask").join(file);
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", self.name(&path)))?;
        toml::from_str(&text).with_context(|| format!("cannot parse `{}`", self.name(&path)))
    }

    /// A program that runs in the root folder.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        command
    }

    /// The cargo that started this command.
    pub(crate) fn cargo(&self) -> Command {
        self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }
}

/// Runs a program to its end; what it prints goes to the terminal.
pub(crate) fn run_to_end(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed with {status}");
    }
    Ok(())
}

/// The first of these programs that is on the `PATH`.
pub(crate) fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    names
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
}

/// All files below a folder that the filter wants, in order; a missing folder has none.
pub(crate) fn files_below(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        collect(folder, wanted, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(
    folder: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    found: &mut Vec<PathBuf>,
) -> anyhow::Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, wanted, found)?;
        } else if wanted(&path) {
            found.push(path);
        }
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    if let Some(name) = Path::new(command.get_program()).file_name() {
        words = vec![name.to_string_lossy().into_owned()];
    }
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}
