//! Reading documents: what is accepted and what the errors say.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use suimon_api::{Object, parse_documents, parse_picker_config};

fn kinds(text: &str) -> Vec<String> {
    parse_documents("f.yaml", text)
        .into_iter()
        .map(|result| match result {
            Ok(document) => document.object.kind().to_owned(),
            Err(error) => error.to_string(),
        })
        .collect()
}

fn error(text: &str) -> String {
    let results = parse_documents("f.yaml", text);
    let mut errors = results.into_iter().filter_map(Result::err);
    let first = errors.next().unwrap().to_string();
    assert!(errors.next().is_none());
    first
}

#[test]
fn documents_that_people_start_from_are_accepted() {
    let text = include_str!("data/user-documents.yaml");
    assert_eq!(
        kinds(text),
        [
            "HTTPRoute",
            "InferencePool",
            "ConfigMap",
            "InferenceModelRewrite",
            "HTTPRoute"
        ]
    );
    let documents = parse_documents("f.yaml", text);
    let Object::ConfigMap(map) = &documents[2].as_ref().unwrap().object else {
        panic!("not a ConfigMap");
    };
    let config = parse_picker_config(&map.data["default-plugins.yaml"]).unwrap();
    let profile = &config.scheduling_profiles[0];
    let weights: Vec<_> = profile.plugins.iter().map(|plugin| plugin.weight).collect();
    assert_eq!(weights, [Some(2.0), Some(2.0), Some(3.0)]);
    let parameters = config.plugins[3].parameters.as_ref().unwrap();
    assert_eq!(parameters["insecureSkipVerify"], true);
}

#[test]
fn an_unknown_field_is_named_with_its_line_and_the_known_ones() {
    let text = "---\n# comment\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata:\n  name: r\n  namespace: llm\nspec:\n  rules:\n  - matches:\n    - path:\n        typ: Exact\n        value: /\n";
    insta::assert_snapshot!(error(text));
}

#[test]
fn a_wrong_type_is_named_with_its_line() {
    let text = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g}\nspec:\n  gatewayClassName: c\n  listeners:\n  - name: a\n    protocol: HTTP\n    port: eighty\n";
    insta::assert_snapshot!(error(text));
}

#[test]
fn a_missing_field_is_named_at_what_should_hold_it() {
    let text = "apiVersion: inference.networking.k8s.io/v1\nkind: InferencePool\nmetadata: {name: p}\nspec:\n  selector:\n    matchLabels: {app: a}\n";
    insta::assert_snapshot!(error(text));
}

#[test]
fn kind_and_version_are_needed() {
    insta::assert_snapshot!(error("apiVersion: v1\nmetadata: {name: a}\n"));
    insta::assert_snapshot!(error("kind: Pod\nmetadata: {name: a}\n"));
    insta::assert_snapshot!(error("just text\n"));
}

#[test]
fn a_name_is_needed() {
    insta::assert_snapshot!(error("apiVersion: v1\nkind: Pod\nmetadata: {}\n"));
}

#[test]
fn duplicate_keys_are_errors() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: x\n  a: y\n";
    insta::assert_snapshot!(error(text));
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\na: [\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n";
    let kinds = kinds(text);
    assert_eq!((kinds[0].as_str(), kinds[2].as_str()), ("Pod", "Pod"));
    assert!(
        kinds[1].starts_with("f.yaml: document 2: line "),
        "{}",
        kinds[1]
    );
}

#[test]
fn what_a_cluster_adds_passes() {
    let text = include_str!("data/cluster.yaml");
    assert_eq!(
        kinds(text),
        [
            "GatewayClass",
            "Gateway",
            "Pod",
            "Service",
            "EndpointSlice",
            "Secret",
            "Deployment"
        ]
    );
}

#[test]
fn json_and_lists_are_documents() {
    let text = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Nothing", "metadata": {"name": "b"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c"}, "spec": {"ports": [{"port": "x"}]}}
    ]}"#;
    let kinds = kinds(text);
    assert_eq!((kinds[0].as_str(), kinds[1].as_str()), ("Pod", "Nothing"));
    insta::assert_snapshot!(kinds[2]);
}

#[test]
fn nulls_are_absent_fields() {
    let text = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g, creationTimestamp: null, labels: null}\nspec:\n  gatewayClassName: c\n  listeners: null\nstatus: null\n";
    assert_eq!(kinds(text), ["Gateway"]);
}

#[test]
fn both_groups_of_objective_and_rewrite_are_read() {
    for group in ["llm-d.ai", "inference.networking.x-k8s.io"] {
        let text = format!(
            "apiVersion: {group}/v1alpha2\nkind: InferenceObjective\nmetadata: {{name: a}}\nspec: {{priority: -1, poolRef: {{name: p}}}}\n---\napiVersion: {group}/v1alpha2\nkind: InferenceModelRewrite\nmetadata: {{name: a}}\nspec: {{poolRef: {{name: p}}, rules: []}}\n---\napiVersion: {group}/v1alpha1\nkind: EndpointPickerConfig\nplugins: []\n"
        );
        assert_eq!(
            kinds(&text),
            [
                "InferenceObjective",
                "InferenceModelRewrite",
                "EndpointPickerConfig"
            ]
        );
    }
}

#[test]
fn a_document_that_expands_out_of_proportion_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    assert!(
        error(&text).contains("not valid YAML or JSON"),
        "{}",
        error(&text)
    );
}

#[test]
fn deep_documents_are_refused() {
    let text = format!("a: {}{}\n", "[".repeat(5000), "]".repeat(5000));
    assert!(error(&text).contains("not valid YAML or JSON"));
}

#[test]
fn text_without_documents_is_none() {
    for text in [
        "",
        "\n",
        "---\n",
        "# only\n---\n# comments\n",
        "%YAML 1.2\n---\n",
    ] {
        assert!(parse_documents("f", text).is_empty(), "{text:?}");
    }
}

#[test]
fn marks_within_block_text_are_text() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: |\n    ---\n    b\n    ...\n    c\n";
    let documents = parse_documents("f", text);
    let Object::ConfigMap(map) = &documents[0].as_ref().unwrap().object else {
        panic!("not a ConfigMap");
    };
    assert_eq!(map.data["a"], "---\nb\n...\nc\n");
}

#[test]
fn a_kind_with_other_capitals_is_not_passed_over() {
    let text = "apiVersion: gateway.networking.k8s.io/v1\nkind: HttpRoute\nmetadata: {name: r}\n";
    insta::assert_snapshot!(error(text));
}

#[test]
fn a_kind_with_a_slip_is_not_passed_over_and_others_are() {
    let of = |kind: &str| {
        format!("apiVersion: gateway.networking.k8s.io/v1\nkind: {kind}\nmetadata: {{name: r}}\n")
    };
    for (kind, meant) in [("HTTPRout", "HTTPRoute"), ("Gatway", "Gateway")] {
        let told = error(&of(kind));
        assert!(told.contains(&format!("did you mean `{meant}`")), "{told}");
    }
    for kind in ["TCPRoute", "TLSRoute", "GRPCRoute", "BackendTLSPolicy"] {
        let read = parse_documents("f.yaml", &of(kind));
        assert!(read.iter().all(Result::is_ok), "{kind}: {read:?}");
    }
}

#[test]
fn every_document_type_has_a_schema_that_knows_its_fields() {
    let pool = schemars::schema_for!(suimon_api::inference_pool::InferencePool);
    let route = schemars::schema_for!(suimon_api::http_route::HttpRoute);
    let picker = schemars::schema_for!(suimon_api::EndpointPickerConfig);
    for (schema, field) in [
        (pool, "targetPorts"),
        (route, "backendRefs"),
        (picker, "schedulingProfiles"),
    ] {
        let text = serde_json::to_string(&schema).unwrap();
        assert!(text.contains(&format!("\"{field}\"")), "{text}");
    }
}
