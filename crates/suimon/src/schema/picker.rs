//! Schema and pages of the picker configuration and its plugins.

use std::fmt::Write as _;

use serde_json::{Value, json};
use suimon_api::EndpointPickerConfig;
use suimon_picker::{Descriptor, Registry};

/// JSON Schema of EndpointPickerConfig, with the parameters of each plugin type.
pub(super) fn schema(registry: &Registry) -> String {
    let mut schema = schemars::schema_for!(EndpointPickerConfig).to_value();
    let plugins: Vec<Value> = registry
        .iter()
        .map(|descriptor| {
            json!({
                "if": {"properties": {"type": {"const": descriptor.name}}},
                "then": {"properties": {"parameters": inlined(descriptor)}},
            })
        })
        .collect();
    let names: Vec<&str> = registry.iter().map(|descriptor| descriptor.name).collect();
    if let Some(spec) = schema
        .pointer_mut("/$defs/PluginSpec")
        .and_then(Value::as_object_mut)
    {
        if let Some(kind) = spec.get_mut("properties").and_then(|p| p.get_mut("type")) {
            kind["enum"] = json!(names);
        }
        spec.insert("allOf".to_owned(), Value::Array(plugins));
    }
    pretty(&schema)
}

/// A plugin's parameter schema without what only a document of its own needs.
fn inlined(descriptor: &Descriptor) -> Value {
    let mut schema = descriptor.schema().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    schema
}

/// All plugin types in one table, by role.
pub(super) fn table(registry: &Registry) -> String {
    let mut text = "# Plugins\n\nWhat `plugins` of an EndpointPickerConfig can hold. The name of a type ends with its \
         role. `suimon check --effective` shows which of them a configuration amounts to.\n\n\
         | role | type | stability | what it does |\n|---|---|---|---|\n"
        .to_owned();
    let mut types: Vec<&Descriptor> = registry.iter().collect();
    types.sort_by_key(|descriptor| (role(descriptor), descriptor.name));
    for descriptor in types {
        let _ = writeln!(
            text,
            "| {0} | [`{1}`](plugins/{1}.md) | {2} | {3} |",
            role(descriptor),
            descriptor.name,
            stability(descriptor),
            descriptor.summary
        );
    }
    text
}

/// The page of one plugin type: summary, parameters with defaults. `cargo xtask gen` puts the prose
/// of the plugin's file around the parameters.
pub(super) fn page(descriptor: &Descriptor) -> String {
    let mut text = format!(
        "# `{}`\n\n{}. Role: {}. Stability: {}.\n\n## Parameters\n\n",
        descriptor.name,
        capital(descriptor.summary),
        role(descriptor),
        stability(descriptor)
    );
    let schema = descriptor.schema().to_value();
    let defaults = descriptor.default_params();
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        text.push_str("None.\n");
        return text;
    };
    text.push_str("| parameter | default | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let meaning = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let default = match defaults.get(name) {
            None | Some(Value::Null) => String::new(),
            Some(default) => format!("`{default}`"),
        };
        let _ = writeln!(
            text,
            "| `{name}` | {default} | {} |",
            meaning.replace('\n', " ")
        );
    }
    text
}

/// The role by which a type's name ends.
fn role(descriptor: &Descriptor) -> &'static str {
    descriptor.name.rsplit('-').next().unwrap_or_default()
}

fn stability(descriptor: &Descriptor) -> String {
    format!("{:?}", descriptor.stability).to_lowercase()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// JSON with line ends that git likes.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
