//! `cargo xtask budget`: sizes of files, functions and crates.

mod measure;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Deserialize;

use self::measure::{Measured, measure};
use crate::repo::{Repo, files_below};

/// Measures every source file of the workspace against `budget.toml`.
pub(crate) fn run(repo: &Repo) -> anyhow::Result<()> {
    let limits: Limits = repo.table("budget.toml")?;
    let mut report = Report::new(&limits);
    for package in repo.metadata()?.workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .context("a manifest has no folder")?;
        let files = measure_crate(folder.as_std_path())?;
        let lines = files.iter().map(|(_, measured)| measured.lines).sum();
        report.add_crate(&package.name, lines);
        for (path, measured) in &files {
            report.add_file(&repo.name(path), measured);
        }
    }
    report.finish()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    file: FileLimit,
    function: FunctionLimit,
    crates: BTreeMap<String, usize>,
    #[serde(default)]
    exception: Vec<Exception>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLimit {
    warn: usize,
    fail: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionLimit {
    fail: usize,
}

/// A file or function that is over its limit on purpose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    path: String,
    function: Option<String>,
    limit: usize,
    reason: String,
}

struct Report<'a> {
    limits: &'a Limits,
    used: BTreeSet<usize>,
    crates: Vec<(String, usize)>,
    files: usize,
    warnings: Vec<String>,
    faults: Vec<String>,
}

// === impl Report ===

impl<'a> Report<'a> {
    fn new(limits: &'a Limits) -> Self {
        Self {
            limits,
            used: BTreeSet::new(),
            crates: Vec::new(),
            files: 0,
            warnings: Vec::new(),
            faults: Vec::new(),
        }
    }

    fn add_crate(&mut self, name: &str, lines: usize) {
        match self.limits.crates.get(name) {
            None => self
                .faults
                .push(format!("crate `{name}` has no line under [crates]")),
            Some(limit) if lines > *limit => {
                self.faults
                    .push(format!("crate `{name}`: {lines} code lines, limit {limit}"));
            }
            Some(_) => {}
        }
        self.crates.push((name.to_owned(), lines));
    }

    fn add_file(&mut self, path: &str, measured: &Measured) {
        self.files += 1;
        let FileLimit { warn, fail } = self.limits.file;
        let lines = measured.lines;
        if lines > fail {
            let limit = self.exception(path, None).unwrap_or(fail);
            if lines > limit {
                self.faults
                    .push(format!("{path}: {lines} code lines, limit {limit}"));
            }
        } else if lines > warn {
            self.warnings
                .push(format!("{path}: {lines} code lines, aim for {warn}"));
        }
        for function in &measured.functions {
            if function.lines <= self.limits.function.fail {
                continue;
            }
            let limit = self.exception(path, Some(&function.name));
            let limit = limit.unwrap_or(self.limits.function.fail);
            if function.lines > limit {
                self.faults.push(format!(
                    "{path}:{}: function `{}` has {} code lines, limit {limit}",
                    function.at, function.name, function.lines
                ));
            }
        }
    }

    fn exception(&mut self, path: &str, function: Option<&str>) -> Option<usize> {
        let mut all = self.limits.exception.iter().enumerate();
        let (index, found) =
            all.find(|(_, entry)| entry.path == path && entry.function.as_deref() == function)?;
        self.used.insert(index);
        Some(found.limit)
    }

    /// The list of exceptions may only shrink, so one that nothing needs is a fault, too.
    fn check_exceptions(&mut self) {
        for (index, entry) in self.limits.exception.iter().enumerate() {
            if entry.reason.trim().len() < 20 {
                self.faults.push(format!(
                    "exception for `{}` gives no real reason",
                    entry.path
                ));
            }
            if !self.used.contains(&index) {
                let function = entry.function.as_deref().unwrap_or("the file");
                let path = &entry.path;
                self.faults
                    .push(format!("exception for `{path}` ({function}) is not needed"));
            }
        }
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.check_exceptions();
        println!(
            "budget: {} files without tests, comments and blank lines",
            self.files
        );
        for (name, lines) in &self.crates {
            let limit = self.limits.crates.get(name).copied().unwrap_or(0);
            println!("  {name:<18} {lines:>6} of {limit:>6} lines");
        }
        for warning in &self.warnings {
            println!("budget: warning: {warning}");
        }
        for fault in &self.faults {
            eprintln!("budget: {fault}");
        }
        if self.faults.is_empty() {
            return Ok(());
        }
        bail!(
            "{} sizes are over budget; split by noun (a file) or by step (a function). If splitting \
             makes it harder to read, add an exception with its reason to crates/xtask/budget.toml",
            self.faults.len()
        )
    }
}

/// The measured files of one crate, without those that only tests compile.
fn measure_crate(folder: &Path) -> anyhow::Result<Vec<(PathBuf, Measured)>> {
    let rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let mut files = Vec::new();
    let mut test_modules = BTreeSet::new();
    for path in files_below(&folder.join("src"), &rust)? {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let measured =
            measure(&text).with_context(|| format!("cannot parse `{}`", path.display()))?;
        for module in &measured.test_modules {
            let parent = module_folder(&path);
            test_modules.insert(parent.join(module));
            test_modules.insert(parent.join(format!("{module}.rs")));
        }
        files.push((path, measured));
    }
    files.retain(|(path, _)| !path.ancestors().any(|part| test_modules.contains(part)));
    Ok(files)
}

/// Where the modules that a file declares live: `src` for `lib.rs`, `src/foo` for `src/foo.rs`.
fn module_folder(path: &Path) -> PathBuf {
    let root = path
        .file_stem()
        .is_some_and(|stem| stem == "lib" || stem == "main");
    if root {
        path.with_file_name("")
    } else {
        path.with_extension("")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Limits, Measured, Report, measure_crate};

    const LIMITS: &str = r#"
        [file]
        warn = 4
        fail = 6
        [function]
        fail = 3
        [crates]
        a = 10
        [[exception]]
        path = "a.rs"
        function = "long"
        limit = 5
        reason = "one table, read from top to bottom"
    "#;

    fn report(limits: &Limits, lines: usize, function: usize) -> Vec<String> {
        let mut report = Report::new(limits);
        let functions = vec![super::measure::Function {
            name: "long".to_owned(),
            at: 1,
            lines: function,
        }];
        let measured = Measured {
            lines,
            functions,
            test_modules: Vec::new(),
        };
        report.add_file("a.rs", &measured);
        report.check_exceptions();
        report.faults
    }

    #[test]
    fn an_exception_raises_one_limit() {
        let limits: Limits = toml::from_str(LIMITS).unwrap();
        assert!(report(&limits, 6, 5).is_empty());
        assert!(report(&limits, 6, 6)[0].contains("`long` has 6 code lines, limit 5"));
        assert!(report(&limits, 7, 5)[0].contains("7 code lines, limit 6"));
    }

    #[test]
    fn an_exception_that_nothing_needs_is_a_fault() {
        let limits: Limits = toml::from_str(LIMITS).unwrap();
        assert_eq!(
            report(&limits, 6, 3),
            ["exception for `a.rs` (long) is not needed"]
        );
    }

    #[test]
    fn a_crate_needs_a_budget_and_keeps_it() {
        let limits: Limits = toml::from_str(LIMITS).unwrap();
        let mut report = Report::new(&limits);
        report.add_crate("a", 10);
        assert!(report.faults.is_empty());
        report.add_crate("a", 11);
        report.add_crate("b", 1);
        assert_eq!(report.faults.len(), 2);
    }

    #[test]
    fn files_that_only_tests_compile_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("src");
        fs::create_dir_all(source.join("part")).unwrap();
        fs::write(
            source.join("lib.rs"),
            "mod part;\n#[cfg(test)]\nmod naive;\n",
        )
        .unwrap();
        fs::write(source.join("naive.rs"), "fn x() {}\n").unwrap();
        fs::write(
            source.join("part.rs"),
            "fn y() {}\n#[cfg(test)]\nmod tests;\n",
        )
        .unwrap();
        fs::write(source.join("part/tests.rs"), "fn z() {}\n").unwrap();
        let files = measure_crate(folder.path()).unwrap();
        let names: Vec<_> = files
            .iter()
            .map(|(path, _)| path.file_name().unwrap())
            .collect();
        assert_eq!(names, ["lib.rs", "part.rs"]);
        assert_eq!(files[0].1.lines + files[1].1.lines, 2);
    }
}
