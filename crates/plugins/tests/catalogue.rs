//! What every plugin of the catalogue keeps to.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that cannot go on fails its test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use suimon_api::parse_picker_config;
use suimon_api::picker_config::PluginSpec;
use suimon_picker::{Engine, Registry, Resources};
use suimon_plugins::CATALOGUE;

const ROLES: [&str; 11] = [
    "detector",
    "discovery",
    "extractor",
    "filter",
    "handler",
    "parser",
    "picker",
    "policy",
    "producer",
    "scorer",
    "source",
];

/// Headings of a plugin's documentation, in this order.
const HEADINGS: [&str; 5] = [
    "# What it does",
    "# Reads",
    "# Scores",
    "# Parameters",
    "# Example",
];

/// Text of the files with a plugin, by its type.
#[expect(clippy::disallowed_methods, reason = "the sources are what is tested")]
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            if !text.contains("\nimpl Plugin for ") {
                continue;
            }
            let kind = between(&text, "const TYPE: &'static str = \"", "\"");
            let kind = kind.unwrap_or_else(|| panic!("{} has no TYPE", path.display()));
            assert_eq!(found.insert(kind.to_owned(), text.clone()), None, "{kind}");
        }
    }
    found
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// The module documentation at the top of a file.
fn documentation(source: &str) -> Vec<&str> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect()
}

fn build(spec: PluginSpec) -> Engine {
    let kind = spec.kind.clone();
    let mut config = parse_picker_config("dataLayer: {injectDefaults: false}").unwrap();
    config.plugins.push(spec);
    let registry = Registry::new(&[CATALOGUE]).unwrap();
    suimon_picker::build(&config, &registry, &Resources::default())
        .unwrap_or_else(|error| panic!("{kind}: {error}"))
}

fn spec(kind: &str, parameters: Option<serde_json::Value>) -> PluginSpec {
    PluginSpec {
        name: None,
        kind: kind.to_owned(),
        parameters,
    }
}

#[test]
fn names_are_sorted_unique_and_end_with_the_role() {
    let names: Vec<&str> = CATALOGUE.iter().map(|descriptor| descriptor.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for name in names {
        let kebab = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        assert!(name.split('-').all(kebab), "{name}");
        let (_, role) = name.rsplit_once('-').unwrap();
        assert!(ROLES.contains(&role), "{name}");
    }
}

#[test]
fn summaries_are_one_line_without_full_stop() {
    for descriptor in CATALOGUE {
        let summary = descriptor.summary;
        assert!(!summary.is_empty() && !summary.ends_with('.'), "{summary}");
        assert!(!summary.contains('\n'), "{summary}");
    }
}

#[test]
fn every_plugin_of_the_crate_is_listed() {
    let written: Vec<String> = sources().into_keys().collect();
    let listed: Vec<&str> = CATALOGUE.iter().map(|descriptor| descriptor.name).collect();
    assert_eq!(written, listed);
}

#[test]
fn default_parameters_are_what_absent_ones_mean() {
    for descriptor in CATALOGUE {
        let defaults = descriptor.default_params();
        assert!(defaults.is_object(), "{}: {defaults}", descriptor.name);
        let empty = serde_json::json!({});
        for given in [None, Some(empty), Some(defaults.clone())] {
            let engine = build(spec(descriptor.name, given));
            let first = &engine.effective.plugins[0];
            assert_eq!(first.parameters, defaults, "{}", descriptor.name);
        }
    }
}

#[test]
fn unknown_parameters_are_refused() {
    let registry = Registry::new(&[CATALOGUE]).unwrap();
    for descriptor in CATALOGUE {
        let mut config = parse_picker_config("dataLayer: {injectDefaults: false}").unwrap();
        let parameters = serde_json::json!({"noSuchParameter": 1});
        config.plugins.push(spec(descriptor.name, Some(parameters)));
        let error = suimon_picker::build(&config, &registry, &Resources::default()).unwrap_err();
        let told = "parameters: `noSuchParameter`: unknown field `noSuchParameter`";
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn schemas_are_closed_objects_that_describe_each_parameter() {
    for descriptor in CATALOGUE {
        let schema = descriptor.schema();
        let get = |key: &str| schema.get(key).cloned().unwrap_or_default();
        assert_eq!(get("type"), "object", "{}", descriptor.name);
        assert_eq!(get("additionalProperties"), false, "{}", descriptor.name);
        let described = get("properties");
        let defaults = descriptor.default_params();
        for key in defaults.as_object().unwrap().keys() {
            let about = described.get(key).and_then(|one| one.get("description"));
            assert!(about.is_some(), "{}.{key}", descriptor.name);
        }
        let properties = described.as_object().map_or(0, serde_json::Map::len);
        assert_eq!(
            properties,
            defaults.as_object().unwrap().len(),
            "{}",
            descriptor.name
        );
    }
}

#[test]
fn documentation_has_name_headings_and_all_parameters() {
    for (kind, source) in sources() {
        let lines = documentation(&source);
        assert!(lines[0].starts_with(&format!("`{kind}`: ")), "{}", lines[0]);
        let headings: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|l| l.starts_with("# "))
            .collect();
        assert_eq!(headings, HEADINGS, "{kind}");
        let text = lines.join("\n");
        let parameters = between(&text, "# Parameters\n", "\n# Example").unwrap();
        let descriptor = CATALOGUE.iter().find(|one| one.name == kind).unwrap();
        for key in descriptor.default_params().as_object().unwrap().keys() {
            assert!(parameters.contains(&format!("`{key}`")), "{kind}: {key}");
        }
    }
}

#[test]
fn examples_are_configurations_of_the_plugin_that_build() {
    for (kind, source) in sources() {
        let text = documentation(&source).join("\n");
        let example = between(&text, "```yaml\n", "\n```").unwrap();
        let entry = example.replace('\n', "\n  ");
        let config = parse_picker_config(&format!("plugins:\n- {entry}\n"));
        let config = config.unwrap_or_else(|error| panic!("{kind}: {error}"));
        let [spec] = &*config.plugins else {
            panic!("{kind}: {:?}", config.plugins)
        };
        assert_eq!(spec.kind, kind);
        build(spec.clone());
    }
}
