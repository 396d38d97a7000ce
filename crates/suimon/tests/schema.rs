//! The generated schemas accept what users start from and refuse what the readers refuse.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that cannot go on fails its test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A schema as it is generated now; that the committed file is the same is for `gen --check`.
fn schema(path: &str) -> Validator {
    let files = suimon::schema::files(&suimon::registry(&[]).unwrap());
    let (_, text) = files.iter().find(|(name, _)| name == path).unwrap();
    jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap()
}

fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap()
}

fn faults(schema: &Validator, document: &Value) -> Vec<String> {
    let fault =
        |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    schema.iter_errors(document).map(fault).collect()
}

/// Every example file with its documents.
fn examples() -> Vec<(String, Vec<Value>)> {
    let entries = fs::read_dir(root().join("examples")).unwrap();
    let example = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, documents(&fs::read_to_string(path).unwrap()))
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    // What is in folders is not ours alone.
    paths.filter(|path| path.is_file()).map(example).collect()
}

#[test]
fn picker_configurations_are_accepted() {
    let schema = schema("schema/picker.json");
    let standard = fs::read_to_string(root().join("crates/plugins/tests/data/standard.yaml"));
    let mut configs = documents(&standard.unwrap());
    let examples = examples().into_iter().flat_map(|(_, documents)| documents);
    configs.extend(examples.filter(|document| document["kind"] == "EndpointPickerConfig"));
    assert!(configs.len() >= 3, "the standard and the examples");
    for config in configs {
        assert_eq!(faults(&schema, &config), [""; 0], "{config}");
    }
}

#[test]
fn what_the_reader_refuses_in_a_picker_configuration_the_schema_refuses() {
    let schema = schema("schema/picker.json");
    let plugin = |plugin: Value| json!({"plugins": [plugin]});
    let good = plugin(json!({"type": "utilization-detector", "parameters": {"headroom": 0.1}}));
    assert_eq!(faults(&schema, &good), [""; 0]);
    for bad in [
        plugin(json!({"type": "utilization-detector", "parameters": {"headrom": 0.1}})),
        plugin(json!({"type": "utilization-detector", "parameters": {"headroom": "much"}})),
        plugin(json!({"type": "queue-scorer", "parameters": {"weight": 2}})),
        plugin(json!({"type": "queue-scorrer"})),
        plugin(json!({"name": "queue-scorer"})),
        json!({"plugin": []}),
    ] {
        assert_eq!(faults(&schema, &bad).len(), 1, "{bad}");
    }
}

#[test]
fn kubernetes_documents_are_accepted() {
    let schema = schema("schema/gateway.json");
    let path = "crates/suimon/tests/data/user-documents.yaml";
    let user = documents(&fs::read_to_string(root().join(path)).unwrap());
    let mut files = examples();
    files.push((path.to_owned(), user));
    for (file, documents) in files {
        for document in documents
            .iter()
            .filter(|document| document["kind"] != "EndpointPickerConfig")
        {
            assert_eq!(faults(&schema, document), [""; 0], "{file}: {document}");
        }
    }
}

#[test]
fn what_the_reader_refuses_in_a_kubernetes_document_the_schema_refuses() {
    let schema = schema("schema/gateway.json");
    let pool = |spec: Value| {
        json!({
            "apiVersion": "inference.networking.k8s.io/v1",
            "kind": "InferencePool",
            "metadata": {"name": "p"},
            "spec": spec,
        })
    };
    let selector = json!({"matchLabels": {"app": "m"}});
    let ports = json!([{"number": 8000}]);
    let good = pool(json!({"selector": selector, "targetPorts": ports}));
    assert_eq!(faults(&schema, &good), [""; 0]);
    for bad in [
        pool(json!({"selector": selector, "targetPorts": ports, "port": 1})),
        pool(json!({"selector": selector, "targetPorts": [{"number": "http"}]})),
        json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "g"}}),
        json!({"kind": "Pod"}),
    ] {
        assert_ne!(faults(&schema, &bad), [""; 0], "{bad}");
    }
}
