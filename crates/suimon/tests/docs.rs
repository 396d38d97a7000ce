//! What the documents point at is there.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of what is a path of this repository when it stands in backticks.
const FOLDERS: [&str; 6] = ["crates/", "docs/", "fuzz/", "examples/", "schema/", ".ci/"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every document for people; generated pages too, since they name files.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    let top = fs::read_dir(root()).unwrap();
    found.extend(top.map(|entry| entry.unwrap().path()));
    found.retain(|path| path.extension().is_some_and(|kind| kind == "md"));
    found
}

/// Text between backticks, fenced blocks left out.
fn in_backticks(text: &str) -> Vec<String> {
    let mut spans = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            spans.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    spans
}

/// Targets of links, without their place in the page.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1);
    let targets = targets.filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap().to_owned());
    targets
        .filter(|target| !target.is_empty() && !target.contains(':'))
        .collect()
}

/// Whether a path exists; a place holder in capitals or `*` stands for any name.
fn exists(path: &str) -> bool {
    let open = |part: &str| part.contains('*') || part.chars().all(|c| c.is_ascii_uppercase());
    let path = path.trim_end_matches('/');
    let fixed: Vec<&str> = path.split('/').take_while(|part| !open(part)).collect();
    root().join(fixed.join("/")).exists()
}

#[test]
fn every_path_in_backticks_exists() {
    let (mut seen, mut missing) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for span in in_backticks(&text) {
            let path = span.split([' ', ':']).next().unwrap();
            if FOLDERS.iter().any(|folder| path.starts_with(folder)) {
                seen += 1;
                if !exists(path) {
                    missing.push(format!("{}: `{path}`", page.display()));
                }
            }
        }
    }
    assert!(seen > 50, "only {seen} paths were looked at");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_link_inside_the_repository_leads_somewhere() {
    let (mut seen, mut missing) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            seen += 1;
            if !page.parent().unwrap().join(&target).exists() {
                missing.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(seen > 20, "only {seen} links were looked at");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_crate_has_its_place_in_the_architecture() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let line = format!("| `crates/{name}` |");
        assert!(text.contains(&line), "ARCHITECTURE.md has no line {line}");
    }
}

#[test]
fn backticks_and_links_are_found() {
    assert_eq!(in_backticks("a `b` c `d e`\n```\n`f`\n```\n"), ["b", "d e"]);
    assert_eq!(links("[a](b.md#c) [d](https://e) [f](#g)"), ["b.md"]);
    assert!(exists("crates/suimon/src/lib.rs") && exists("crates/*/src") && exists("docs/"));
    assert!(!exists("crates/suimon/src/none.rs"));
}
