//! `cargo xtask new-plugin`: the skeleton of a plugin and its catalogue line.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;

use crate::repo::Repo;

const SOURCE: &str = "crates/plugins/src";

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask new-plugin scorer time-of-day\n  cargo xtask new-plugin filter warm"
)]
pub(crate) struct Args {
    /// What the plugin is
    role: Role,
    /// Its name in kebab-case; the role is added to it
    name: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    Filter,
    Scorer,
    Picker,
}

/// Writes the plugin's file, declares it and adds it to the catalogue.
pub(crate) fn run(repo: &Repo, args: &Args) -> anyhow::Result<()> {
    let names = Names::of(args.role, &args.name)?;
    let role = args.role.word();
    let file = format!("{SOURCE}/scheduling/{role}/{}.rs", names.module);
    if repo.path(&file).exists() {
        bail!("`{file}` exists; choose another name");
    }
    let mut writes = vec![(file.clone(), names.fill(args.role.template()))];
    writes.extend(declare(repo, args.role, &names)?);
    let catalogue = format!("{SOURCE}/lib.rs");
    let line = format!(
        "    Descriptor::of::<scheduling::{role}::{}::{}>(),",
        names.module, names.item
    );
    let text = insert_sorted(&read(repo, &catalogue)?, &line, catalogue_key);
    let text = text.with_context(|| format!("`{catalogue}` has no catalogue to add to"))?;
    writes.push((catalogue, text));
    for (path, text) in &writes {
        write(repo, path, text)?;
        println!("new-plugin: wrote {path}");
    }
    println!(
        "\nNext: say in the head of {file} what it does, write its formula and the rows of its test,\n\
         then `cargo test -p suimon-plugins` and `cargo xtask gen`. In a configuration it is\n  \
         type: {}",
        names.kind
    );
    Ok(())
}

/// One name in the spellings that the code needs.
struct Names {
    /// `my-name-scorer`
    kind: String,
    /// `my_name`
    module: String,
    /// `MyNameScorer`
    item: String,
}

// === impl Names ===

impl Names {
    fn of(role: Role, name: &str) -> anyhow::Result<Self> {
        let suffix = format!("-{}", role.word());
        let stem = name.strip_suffix(&suffix).unwrap_or(name);
        let kebab = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word
                    .chars()
                    .all(|char| char.is_ascii_lowercase() || char.is_ascii_digit())
        };
        ensure!(
            stem.split('-').all(kebab),
            "`{name}` is not a plugin name; write it in kebab-case, for example `time-of-day`"
        );
        for other in Role::value_variants() {
            let other = other.word();
            ensure!(
                !stem.ends_with(&format!("-{other}")),
                "`{name}` names a {other}; leave the role out of the name: `cargo xtask new-plugin {other} ...`"
            );
        }
        let kind = format!("{stem}{suffix}");
        let item = kind.split('-').map(capitalised).collect();
        let module = stem.replace('-', "_");
        let reserved = syn::parse_str::<syn::Ident>(&module).is_err();
        ensure!(
            !reserved,
            "`{module}` is a word of the language and cannot name a file"
        );
        Ok(Self { module, kind, item })
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{kind}", &self.kind)
            .replace("{Item}", &self.item)
    }
}

// === impl Role ===

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Scorer => "scorer",
            Self::Picker => "picker",
        }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Filter => include_str!("new_plugin/filter.rs.txt"),
            Self::Scorer => include_str!("new_plugin/scorer.rs.txt"),
            Self::Picker => include_str!("new_plugin/picker.rs.txt"),
        }
    }
}

/// The files that must declare the new module, with their new text. The first plugin of a role also
/// brings the role's own file.
fn declare(repo: &Repo, role: Role, names: &Names) -> anyhow::Result<Vec<(String, String)>> {
    let role = role.word();
    let path = format!("{SOURCE}/scheduling/{role}.rs");
    let line = format!("pub mod {};", names.module);
    if repo.path(&path).exists() {
        let text = insert_sorted(&read(repo, &path)?, &line, module_key)
            .with_context(|| format!("`{path}` declares no module"))?;
        return Ok(vec![(path, text)]);
    }
    let parent = format!("{SOURCE}/scheduling.rs");
    let text = insert_sorted(
        &read(repo, &parent)?,
        &format!("pub mod {role};"),
        module_key,
    )
    .with_context(|| format!("`{parent}` declares no module"))?;
    let head = format!("//! {}s.\n\n{line}\n", capitalised(role));
    Ok(vec![(path, head), (parent, text)])
}

/// The text with `line` among its siblings, the lines that have a key; `None` if it has none.
fn insert_sorted(text: &str, line: &str, key: fn(&str) -> Option<&str>) -> Option<String> {
    let new = key(line)?;
    let mut lines: Vec<&str> = text.lines().collect();
    let later = lines
        .iter()
        .position(|known| key(known).is_some_and(|known| known > new));
    let behind_last = || {
        lines
            .iter()
            .rposition(|known| key(known).is_some())
            .map(|at| at + 1)
    };
    let at = later.or_else(behind_last)?;
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

fn module_key(line: &str) -> Option<&str> {
    line.strip_prefix("pub mod ")?.strip_suffix(';')
}

/// The catalogue is sorted by name, and a plugin's file is named after it.
fn catalogue_key(line: &str) -> Option<&str> {
    let path = line.trim().strip_prefix("Descriptor::of::<")?;
    let module = path.rsplit("::").nth(1)?;
    Some(module.strip_prefix("r#").unwrap_or(module))
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string())
        + chars.as_str()
}

fn read(repo: &Repo, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(repo.path(path)).with_context(|| format!("cannot read `{path}`"))
}

fn write(repo: &Repo, path: &str, text: &str) -> anyhow::Result<()> {
    let target: PathBuf = repo.path(path);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    fs::write(target, text).with_context(|| format!("cannot write `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::{Names, Role, catalogue_key, insert_sorted, module_key};

    #[test]
    fn one_name_has_three_spellings() {
        for given in ["time-of-day", "time-of-day-scorer"] {
            let names = Names::of(Role::Scorer, given).unwrap();
            assert_eq!(names.kind, "time-of-day-scorer");
            assert_eq!(names.module, "time_of_day");
            assert_eq!(names.item, "TimeOfDayScorer");
        }
        for wrong in [
            "TimeOfDay",
            "time_of_day",
            "",
            "a--b",
            "-a",
            "1a",
            "static",
            "../x",
        ] {
            assert!(Names::of(Role::Scorer, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lines_stay_sorted() {
        let text = "//! Scorers.\n\npub mod b;\npub mod d;\n\nfn x() {}\n";
        let with = |line: &str| insert_sorted(text, line, module_key).unwrap();
        assert!(with("pub mod a;").contains("\n\npub mod a;\npub mod b;\n"));
        assert!(with("pub mod c;").contains("b;\npub mod c;\npub mod d;\n"));
        assert!(with("pub mod e;").ends_with("d;\npub mod e;\n\nfn x() {}\n"));
        assert!(insert_sorted("fn x() {}\n", "pub mod a;", module_key).is_none());
    }

    #[test]
    fn the_catalogue_is_sorted_by_file() {
        let text = "    Descriptor::of::<parser::openai::OpenAiParser>(),\n    \
            Descriptor::of::<flow::usage_limit::r#static::StaticUsageLimitPolicy>(),\n";
        let line = "    Descriptor::of::<scheduling::scorer::queue::QueueScorer>(),";
        let with = insert_sorted(text, line, catalogue_key).unwrap();
        assert_eq!(with.lines().nth(1), Some(line));
    }

    #[test]
    fn skeletons_are_rust_without_places_to_fill() {
        for role in [Role::Filter, Role::Scorer, Role::Picker] {
            let names = Names::of(role, "time-of-day").unwrap();
            let text = names.fill(role.template());
            assert!(
                !text.contains("{kind}") && !text.contains("{Item}"),
                "{text}"
            );
            syn::parse_file(&text).unwrap();
            for heading in ["What it does", "Reads", "Scores", "Parameters", "Example"] {
                assert!(text.contains(&format!("//! # {heading}\n")), "{heading}");
            }
        }
    }
}
