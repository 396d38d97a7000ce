//! The prose of plugin pages: it is written once, at the top of the plugin's file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::repo::{Repo, files_below};

/// Where plugins are.
const FOLDERS: [&str; 2] = ["crates/plugins/src", "crates/datalayer/src/plugin"];

/// The pages that get prose.
const PAGES: &str = "docs/reference/plugins";

/// Headings of a plugin's documentation that go before the table of parameters.
const BEFORE: [&str; 3] = ["What it does", "Reads", "Scores"];

/// Headings that go behind it.
const BEHIND: [&str; 1] = ["Example"];

/// The heading in whose place the page has a table.
const PARAMETERS: &str = "Parameters";

/// Puts the documentation of each plugin's file into its page.
pub(super) fn complete(repo: &Repo, pages: &mut BTreeMap<PathBuf, Vec<u8>>) -> anyhow::Result<()> {
    let documentation = read(repo)?;
    for (path, page) in pages.iter_mut().filter(|(path, _)| path.starts_with(PAGES)) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let source = documentation.get(&*name).with_context(|| {
            format!(
                "no file below {} begins with ``//! `{name}`:``",
                FOLDERS.join(" or ")
            )
        })?;
        let completed = source
            .put_into(std::str::from_utf8(page)?)
            .with_context(|| format!("`{}` has no heading `{PARAMETERS}`", path.display()))?;
        *page = completed.into_bytes();
    }
    Ok(())
}

/// A plugin's file and the documentation at its top.
struct Source {
    path: String,
    sections: Vec<(String, String)>,
}

/// By the name of the plugin.
fn read(repo: &Repo) -> anyhow::Result<BTreeMap<String, Source>> {
    let rust = |path: &Path| path.extension().is_some_and(|kind| kind == "rs");
    let mut found = BTreeMap::new();
    for folder in FOLDERS {
        for path in files_below(&repo.path(folder), &rust)? {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            if let Some(name) = plugin(&text) {
                let source = Source {
                    path: repo.name(&path),
                    sections: sections(&text),
                };
                found.insert(name.to_owned(), source);
            }
        }
    }
    Ok(found)
}

/// The plugin that a file says it holds.
fn plugin(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("//! `")?.split_once("`:")?;
    Some(name)
}

/// Headings with their text, of the documentation at the top of a file.
fn sections(text: &str) -> Vec<(String, String)> {
    let known = |heading: &str| {
        heading == PARAMETERS || BEFORE.contains(&heading) || BEHIND.contains(&heading)
    };
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        match line.strip_prefix("# ").filter(|heading| known(heading)) {
            Some(heading) => sections.push((heading.to_owned(), String::new())),
            None => {
                if let Some((_, body)) = sections.last_mut() {
                    body.push_str(line);
                    body.push('\n');
                }
            }
        }
    }
    sections
}

// === impl Source ===

impl Source {
    /// The page with the prose around its table of parameters; `None`: it has none.
    fn put_into(&self, page: &str) -> Option<String> {
        let marker = format!("## {PARAMETERS}\n");
        let (head, table) = page.split_once(&marker)?;
        let mut text = head.to_owned();
        self.write(&BEFORE, &mut text);
        text.push_str(&marker);
        text.push_str(table);
        text.push('\n');
        self.write(&BEHIND, &mut text);
        let _ = writeln!(text, "Its code is `{}`.", self.path);
        Some(text)
    }

    /// The sections under these headings that say anything.
    fn write(&self, headings: &[&str], text: &mut String) {
        let wanted = |heading: &str| headings.contains(&heading);
        for (heading, body) in self.sections.iter().filter(|(heading, _)| wanted(heading)) {
            let body = body.trim();
            if body != "Nothing." {
                let _ = writeln!(text, "## {heading}\n\n{body}\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Source, plugin, sections};

    const FILE: &str = "//! `a-scorer`: scores.\n//!\n//! # What it does\n//! Much.\n//!\n\
        //! # Scores\n//! Nothing.\n//!\n//! # Parameters\n//! None.\n//!\n\
        //! # Example\n//! ```yaml\n//! # a comment\n//! type: a-scorer\n//! ```\n\nuse x;\n";

    #[test]
    fn a_page_gets_what_its_file_says() {
        assert_eq!(plugin(FILE), Some("a-scorer"));
        assert_eq!(plugin("//! Scorers.\n"), None);
        let source = Source {
            path: "a.rs".to_owned(),
            sections: sections(FILE),
        };
        let page = source.put_into("# a\n\n## Parameters\n\ntable\n").unwrap();
        assert_eq!(
            page,
            "# a\n\n## What it does\n\nMuch.\n\n## Parameters\n\ntable\n\n## Example\n\n\
             ```yaml\n# a comment\ntype: a-scorer\n```\n\nIts code is `a.rs`.\n"
        );
        assert_eq!(source.put_into("# a\n"), None);
    }
}
