//! `cargo xtask deps`: who may depend on whom.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use cargo_metadata::{DependencyKind, Metadata};
use serde::Deserialize;

use crate::repo::Repo;

/// Compares every declared dependency with `deps.toml`.
pub(crate) fn run(repo: &Repo) -> anyhow::Result<()> {
    let rules: Rules = repo.table("deps.toml")?;
    let members = members(&repo.metadata()?);
    let edges: usize = members.iter().map(|member| member.edges.len()).sum();
    let faults = rules.check(&members);
    println!(
        "deps: {} crates, {edges} dependencies against crates/xtask/deps.toml",
        members.len()
    );
    for name in rules.unused(&members) {
        println!("deps: note: deps.toml lists `{name}`, which is not a member of the workspace");
    }
    if faults.is_empty() {
        return Ok(());
    }
    for fault in &faults {
        eprintln!("deps: {fault}");
    }
    bail!(
        "{} dependencies are not allowed; move the code to the crate that may have it, or pass the \
         value in. To change the rule itself, change deps.toml and say why in docs/adr",
        faults.len()
    )
}

/// The crates that may not name an async runtime: they do no IO at all.
pub(crate) fn without_runtime(repo: &Repo) -> anyhow::Result<BTreeSet<String>> {
    let rules: Rules = repo.table("deps.toml")?;
    let limit = rules
        .limit
        .into_iter()
        .find(|limit| limit.library == "tokio");
    let limit = limit.context("deps.toml has no limit on `tokio`")?;
    Ok(limit.never)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    crates: BTreeMap<String, Allowed>,
    #[serde(default)]
    limit: Vec<Limit>,
}

/// What one crate may use of the workspace.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    uses: BTreeSet<String>,
    #[serde(default)]
    dev: BTreeSet<String>,
}

/// A library from outside that only some crates may name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    library: String,
    only: Option<BTreeSet<String>>,
    #[serde(default)]
    never: BTreeSet<String>,
    reason: String,
}

struct Member {
    name: String,
    edges: Vec<Edge>,
}

struct Edge {
    to: String,
    dev: bool,
}

// === impl Rules ===

impl Rules {
    fn check(&self, members: &[Member]) -> Vec<String> {
        let ours: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let mut faults = Vec::new();
        for member in members {
            let Some(allowed) = self.crates.get(&member.name) else {
                faults.push(format!(
                    "crate `{0}` is not in deps.toml; add `[crates.{0}]` with what it may use",
                    member.name
                ));
                continue;
            };
            for edge in &member.edges {
                if ours.contains(edge.to.as_str()) {
                    faults.extend(allowed.check(&member.name, edge));
                }
            }
        }
        faults.extend(self.check_limits(members));
        faults
    }

    /// A dev-dependency is under the same limits: a test that needs IO belongs to a crate that has it.
    fn check_limits(&self, members: &[Member]) -> Vec<String> {
        let mut faults = Vec::new();
        for member in members {
            for edge in &member.edges {
                for limit in self.limit.iter().filter(|limit| limit.library == edge.to) {
                    faults.extend(limit.check(&member.name));
                }
            }
        }
        faults
    }

    /// Lines of crates that do not exist. They allow nothing, so they are worth a note only.
    fn unused(&self, members: &[Member]) -> Vec<&str> {
        let ours: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
        self.crates
            .keys()
            .map(String::as_str)
            .filter(|name| !ours.contains(name))
            .collect()
    }
}

// === impl Allowed ===

impl Allowed {
    fn check(&self, from: &str, edge: &Edge) -> Option<String> {
        if self.uses.contains(&edge.to) || (edge.dev && self.dev.contains(&edge.to)) {
            return None;
        }
        let mut known: Vec<&str> = self.uses.iter().map(String::as_str).collect();
        if edge.dev {
            known.extend(self.dev.iter().map(String::as_str));
        }
        let known = if known.is_empty() {
            "nothing of ours".to_owned()
        } else {
            known.join(", ")
        };
        let kind = if edge.dev {
            "dev-dependency"
        } else {
            "dependency"
        };
        Some(format!(
            "`{from}` has `{}` as a {kind}; it may use: {known}",
            edge.to
        ))
    }
}

// === impl Limit ===

impl Limit {
    fn check(&self, from: &str) -> Option<String> {
        let outside = self.only.as_ref().is_some_and(|only| !only.contains(from));
        if !outside && !self.never.contains(from) {
            return None;
        }
        let accepted = match &self.only {
            Some(only) => {
                let only: Vec<&str> = only.iter().map(String::as_str).collect();
                format!("; only {} may", only.join(", "))
            }
            None => String::new(),
        };
        Some(format!(
            "`{from}` may not depend on `{}`{accepted}: {}",
            self.library, self.reason
        ))
    }
}

fn members(metadata: &Metadata) -> Vec<Member> {
    let packages = metadata.workspace_packages();
    packages
        .into_iter()
        .map(|package| Member {
            name: package.name.to_string(),
            edges: package
                .dependencies
                .iter()
                .map(|dependency| Edge {
                    to: dependency.name.clone(),
                    dev: dependency.kind == DependencyKind::Development,
                })
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Edge, Member, Rules};

    const RULES: &str = r#"
        [crates.a]
        uses = []
        [crates.b]
        uses = ["a"]
        dev = ["kit"]
        [crates.kit]
        uses = ["a"]
        [[limit]]
        library = "tokio"
        never = ["a"]
        reason = "no IO"
        [[limit]]
        library = "hyper"
        only = ["b"]
        reason = "one place"
    "#;

    fn faults(name: &str, to: &str, dev: bool) -> Vec<String> {
        let rules: Rules = toml::from_str(RULES).unwrap();
        let mut members: Vec<Member> = ["a", "b", "kit"]
            .map(|name| Member {
                name: name.to_owned(),
                edges: Vec::new(),
            })
            .into();
        let edge = Edge {
            to: to.to_owned(),
            dev,
        };
        match members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.edges.push(edge),
            None => members.push(Member {
                name: name.to_owned(),
                edges: vec![edge],
            }),
        }
        rules.check(&members)
    }

    #[test]
    fn an_arrow_needs_a_line() {
        assert!(faults("b", "a", false).is_empty());
        let refused = faults("a", "b", false);
        assert_eq!(
            refused,
            ["`a` has `b` as a dependency; it may use: nothing of ours"]
        );
    }

    #[test]
    fn the_test_kit_is_for_tests_only() {
        assert!(faults("b", "kit", true).is_empty());
        assert_eq!(faults("b", "kit", false).len(), 1);
        assert_eq!(faults("a", "kit", true).len(), 1);
    }

    #[test]
    fn libraries_are_limited_both_ways() {
        assert!(faults("b", "tokio", false).is_empty());
        assert_eq!(faults("a", "tokio", true).len(), 1);
        assert!(faults("b", "hyper", false).is_empty());
        assert_eq!(faults("kit", "hyper", false).len(), 1);
    }

    #[test]
    fn a_crate_without_a_line_is_refused() {
        assert!(faults("new", "serde", false)[0].contains("`[crates.new]`"));
    }

    #[test]
    fn a_line_without_a_crate_is_noted() {
        let rules: Rules = toml::from_str("[crates.gone]\nuses = []").unwrap();
        assert!(rules.check(&[]).is_empty());
        assert_eq!(rules.unused(&[]), ["gone"]);
    }
}
