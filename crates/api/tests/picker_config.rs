//! EndpointPickerConfig: strict outside `parameters`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use suimon_api::discovery::parse_endpoint_list;
use suimon_api::parse_picker_config;

fn error(text: &str) -> String {
    parse_picker_config(text).unwrap_err().to_string()
}

#[test]
fn an_empty_configuration_is_one() {
    for text in [
        "",
        "{}",
        "plugins: []\n",
        "kind: EndpointPickerConfig\n",
        "# comment\n",
    ] {
        let config = parse_picker_config(text).unwrap();
        assert!(config.plugins.is_empty(), "{text:?}");
    }
}

#[test]
fn all_sections_are_read() {
    let text = include_str!("data/picker-config.yaml");
    let config = parse_picker_config(text).unwrap();
    insta::assert_json_snapshot!(config);
}

#[test]
fn unknown_fields_are_errors_with_the_nearest_name() {
    let text = "plugins:\n- type: queue-scorer\nschedulingProfiles:\n- name: default\n  plugins:\n  - pluginRef: queue-scorer\n    wieght: 2\n";
    insta::assert_snapshot!(error(text));
    insta::assert_snapshot!(error("plugin: []\n"));
}

#[test]
fn names_are_case_sensitive() {
    insta::assert_snapshot!(error("schedulingprofiles: []\n"));
}

#[test]
fn duplicate_keys_are_errors_in_parameters_too() {
    assert!(error("plugins: []\nplugins: []\n").contains("duplicate"));
    let text = "plugins:\n- type: a\n  parameters:\n    x: 1\n    x: 2\n";
    assert!(error(text).contains("duplicate"), "{}", error(text));
}

#[test]
fn parameters_are_kept_as_they_are() {
    let text =
        "plugins:\n- type: a\n  parameters: {whatever: {deep: [1, null, 2.5, x]}, n: null}\n";
    let config = parse_picker_config(text).unwrap();
    let parameters = config.plugins[0].parameters.as_ref().unwrap();
    assert_eq!(
        parameters.to_string(),
        r#"{"whatever":{"deep":[1,null,2.5,"x"]},"n":null}"#
    );
}

#[test]
fn other_kinds_and_versions_are_errors() {
    insta::assert_snapshot!(error("kind: Pod\n"));
    insta::assert_snapshot!(error(
        "apiVersion: llm-d.ai/v2\nkind: EndpointPickerConfig\n"
    ));
}

#[test]
fn endpoint_lists_are_checked_entry_by_entry() {
    let list = parse_endpoint_list("endpoints:\n- {name: a, address: 10.0.0.1, port: \"8000\"}\n")
        .unwrap();
    assert_eq!(list.endpoints[0].namespace, "default");
    assert_eq!(list.endpoints[0].port(), Some(8000));
    let error = |text| parse_endpoint_list(text).unwrap_err().to_string();
    insta::assert_snapshot!(error(
        "endpoints:\n- {name: a, address: 10.0.0.1, port: 8000}\n"
    ));
    insta::assert_snapshot!(error(
        "endpoints:\n- {name: a, address: host, port: \"8000\"}\n"
    ));
    insta::assert_snapshot!(error(
        "endpoints:\n- name: a\n  address: 10.0.0.1\n  port: \"70000\"\n"
    ));
    insta::assert_snapshot!(error(
        "endpoints:\n- {name: a, address: 10.0.0.1, port: \"1\"}\n- {name: a, address: 10.0.0.2, port: \"1\"}\n"
    ));
}
