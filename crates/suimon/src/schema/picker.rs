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

/// All plugin types in one table.
pub(super) fn table(registry: &Registry) -> String {
    let mut text = "# Plugins\n\n| type | stability | what it does |\n|---|---|---|\n".to_owned();
    for d in registry.iter() {
        let _ = writeln!(
            text,
            "| [`{0}`](plugins/{0}.md) | {1:?} | {2} |",
            d.name, d.stability, d.summary
        );
    }
    text
}

/// The page of one plugin type: summary, parameters with defaults.
pub(super) fn page(descriptor: &Descriptor) -> String {
    let mut text = format!(
        "# `{}`\n\n{} ({:?}).\n\n",
        descriptor.name, descriptor.summary, descriptor.stability
    );
    let schema = descriptor.schema().to_value();
    let defaults = descriptor.default_params();
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        text.push_str("It has no parameters.\n");
        return text;
    };
    text.push_str("| parameter | default | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        let meaning = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let default = defaults.get(name).unwrap_or(&Value::Null);
        let _ = writeln!(
            text,
            "| `{name}` | `{default}` | {} |",
            meaning.replace('\n', " ")
        );
    }
    text
}

/// JSON with line ends that git likes.
pub(super) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
