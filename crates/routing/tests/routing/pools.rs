//! InferencePools: members, pickers, objectives and rewrites.

use suimon_routing::table::{BackendProtocol, PickerRef, PoolSpec};
use suimon_routing::{Key, Translation};

use crate::{GATEWAY, errors, join, parents, route, translated};

const TO_POOL: &str =
    "rules: [{backendRefs: [{name: p, kind: InferencePool, group: inference.networking.k8s.io}]}]";

fn pool(spec: &str) -> String {
    format!(
        "{{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool, metadata: {{name: p}}, spec: {{selector: {{matchLabels: {{app: a}}}}, {spec}}}}}"
    )
}

fn pod(name: &str, rest: &str) -> String {
    format!("{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: a}}}}, {rest}}}")
}

fn with(objects: &[&str]) -> Translation {
    let route = route("r", TO_POOL);
    let mut all = vec![GATEWAY, route.as_str()];
    all.extend(objects);
    translated(&join(&all))
}

fn members(spec: &PoolSpec) -> Vec<String> {
    spec.members
        .iter()
        .map(|it| format!("{} {}:{}", it.id, it.ip, it.port))
        .collect()
}

#[test]
fn members_are_ready_pods_times_current_ports() {
    let pods = [
        pod("a", "status: {podIP: 10.0.0.1}"),
        pod("b", "status: {podIP: 10.0.0.2, phase: Failed}"),
        pod("c", "status: {podIP: 10.0.0.3, conditions: [{type: Initialized, status: 'True'}]}"),
        pod("d", "status: {}"),
        "{apiVersion: v1, kind: Pod, metadata: {name: e, labels: {app: a}, deletionTimestamp: '2026-01-01T00:00:00Z'}, status: {podIP: 10.0.0.5}}".to_owned(),
        "{apiVersion: v1, kind: Pod, metadata: {name: f, labels: {app: b}}, status: {podIP: 10.0.0.6}}".to_owned(),
    ];
    let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
    for (ports, expected) in [
        (
            "[{number: 8000}, {number: 8001}]",
            vec![
                "default/a-rank-0 10.0.0.1:8000",
                "default/a-rank-1 10.0.0.1:8001",
            ],
        ),
        ("[{number: 8000}]", vec!["default/a-rank-0 10.0.0.1:8000"]),
        ("[{number: 9000}]", vec!["default/a-rank-0 10.0.0.1:9000"]),
    ] {
        let pool = pool(&format!("targetPorts: {ports}"));
        let mut objects = vec![pool.as_str()];
        objects.extend(&pods);
        assert_eq!(members(&with(&objects).pools[0]), expected);
    }
}

#[test]
fn a_pod_serves_the_ports_that_it_says() {
    for (annotation, expected) in [
        ("'8001'", vec!["default/a-rank-1 10.0.0.1:8001"]),
        (
            "'8000, 8001,9'",
            vec![
                "default/a-rank-0 10.0.0.1:8000",
                "default/a-rank-1 10.0.0.1:8001",
            ],
        ),
        ("''", vec![]),
        ("nonsense", vec![]),
    ] {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: a, labels: {{app: a}}, annotations: {{inference.networking.k8s.io/active-ports: {annotation}}}}}, status: {{podIP: 10.0.0.1}}}}"
        );
        let all = with(&[&pool("targetPorts: [{number: 8000}, {number: 8001}]"), &pod]);
        assert_eq!(members(&all.pools[0]), expected, "{annotation}");
    }
}

#[test]
fn all_eight_ports_are_reachable_and_a_ninth_is_not() {
    let ports: Vec<String> = (8000..8009)
        .map(|port| format!("{{number: {port}}}"))
        .collect();
    let pod = pod("a", "status: {podIP: 10.0.0.1}");
    let eight = with(&[
        &pool(&format!("targetPorts: [{}]", ports[..8].join(", "))),
        &pod,
    ]);
    assert_eq!(eight.pools[0].members.len(), 8);
    assert!(errors(&eight).is_empty());
    let nine = with(&[&pool(&format!("targetPorts: [{}]", ports.join(", "))), &pod]);
    assert_eq!(nine.pools[0].members.len(), 8);
    assert_eq!(errors(&nine).len(), 1);
}

#[test]
fn an_empty_selector_takes_nothing() {
    let pool = "{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool, metadata: {name: p}, spec: {selector: {matchLabels: {}}, targetPorts: [{number: 1}]}}";
    let all = with(&[pool, &pod("a", "status: {podIP: 10.0.0.1}")]);
    assert!(all.pools[0].members.is_empty());
    assert_eq!(errors(&all).len(), 1);
}

#[test]
fn app_protocol_is_h2c_or_http() {
    let h2c = with(&[&pool(
        "targetPorts: [{number: 1}], appProtocol: kubernetes.io/h2c",
    )]);
    assert_eq!(h2c.pools[0].protocol, BackendProtocol::H2c);
    let http = with(&[&pool("targetPorts: [{number: 1}], appProtocol: http")]);
    assert_eq!(http.pools[0].protocol, BackendProtocol::Http1);
    let other = with(&[
        &pool("targetPorts: [{number: 1}], appProtocol: tcp"),
        &pod("a", "status: {podIP: 10.0.0.1}"),
    ]);
    assert!(other.pools[0].members.is_empty());
    let status = &other.statuses.pools[&Key::new("default", "p")];
    assert_eq!(parents(status)[0][0], "Accepted=False/NotSupportedByParent");
}

fn config(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n{data}")
}

fn picker(data: &str) -> PickerRef {
    let reference = "targetPorts: [{number: 1}], endpointPickerRef: {kind: ConfigMap, name: c}";
    let all = with(&[&pool(reference), &config(data)]);
    all.pools[0].picker.clone()
}

#[test]
fn the_configuration_is_the_only_key_or_the_one_that_says_so() {
    let source = |picker| match picker {
        PickerRef::Inside { source, .. } => source.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(source(picker("  any: 'plugins: []'\n")), "default/c#any");
    assert_eq!(
        source(picker("  a: text\n  b: 'kind: EndpointPickerConfig'\n")),
        "default/c#b"
    );
    assert_eq!(
        source(picker("  a: text\n  b.yml: 'plugins: []'\n")),
        "default/c#b.yml"
    );
    for bad in [
        "  {}\n",
        "  a: x\n  b: z\n",
        "  a.yaml: 'plugins: []'\n  b.json: 'plugins: []'\n",
    ] {
        let found = picker(bad);
        assert!(
            matches!(&found, PickerRef::Unusable { why } if why.contains("no single key")),
            "{bad}: {found:?}"
        );
    }
}

#[test]
fn a_broken_configuration_says_where() {
    let PickerRef::Unusable { why } =
        picker("  a.yaml: |\n    plugins:\n    - typ: queue-scorer\n")
    else {
        panic!("usable");
    };
    assert_eq!(
        &*why,
        "ConfigMap `default/c`, `a.yaml`: line 2: `plugins[0].typ`: unknown field `typ`; did you mean `type`; accepted: `name`, `type`, `parameters`"
    );
}

#[test]
fn pickers_that_cannot_be_used_leave_the_failure_mode() {
    for (reference, fail_open) in [
        ("{name: epp, port: {number: 9002}}", false),
        (
            "{name: epp, port: {number: 9002}, failureMode: FailOpen}",
            true,
        ),
        (
            "{kind: ConfigMap, name: missing, failureMode: Tomorrow}",
            false,
        ),
        ("{kind: Deployment, group: apps, name: x}", false),
    ] {
        let all = with(&[&pool(&format!(
            "targetPorts: [{{number: 1}}], endpointPickerRef: {reference}"
        ))]);
        assert!(
            matches!(all.pools[0].picker, PickerRef::Unusable { .. }),
            "{reference}"
        );
        assert_eq!(all.pools[0].fail_open, fail_open, "{reference}");
        let status = &all.statuses.pools[&Key::new("default", "p")];
        assert_eq!(
            parents(status),
            [[
                "Accepted=True/Accepted",
                "ResolvedRefs=False/InvalidExtensionRef"
            ]]
        );
    }
}

#[test]
fn a_pool_has_an_entry_for_each_gateway_and_none_without_routes() {
    let second = GATEWAY
        .replace("name: g", "name: h")
        .replace("port: 80", "port: 81");
    let route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: [{name: g}, {name: h}, {name: missing}], rules: [{backendRefs: [{name: p, kind: InferencePool, group: inference.networking.k8s.io}]}]}}";
    let pool = pool("targetPorts: [{number: 1}]");
    let all = translated(&join(&[GATEWAY, &second, route, &pool]));
    let status = &all.statuses.pools[&Key::new("default", "p")];
    let gateways: Vec<_> = status
        .iter()
        .map(|it| (it.parent.namespace.as_deref(), it.parent.name.as_str()))
        .collect();
    assert_eq!(gateways, [(Some("default"), "g"), (Some("default"), "h")]);
    let alone = translated(&join(&[GATEWAY, &pool]));
    assert!(alone.statuses.pools[&Key::new("default", "p")].is_empty());
    assert!(alone.pools.is_empty());
}

#[test]
fn an_unattached_route_runs_no_pool_but_its_references_are_checked() {
    let all = translated(&join(&[
        &route("r", TO_POOL),
        &pool("targetPorts: [{number: 1}]"),
    ]));
    assert!(all.pools.is_empty());
    let broken = translated(&join(&[&route("r", TO_POOL)]));
    assert!(errors(&broken)[0].contains("InferencePool `default/p` is not found"));
}

#[test]
fn rules_for_a_model_come_before_rules_for_all_then_the_older_object() {
    let rewrite = |name: &str, created: &str, rules: &str| {
        format!(
            "{{apiVersion: llm-d.ai/v1alpha2, kind: InferenceModelRewrite, metadata: {{name: {name}, creationTimestamp: '{created}'}}, spec: {{poolRef: {{name: p}}, rules: [{rules}]}}}}"
        )
    };
    let all = with(&[
        &pool("targetPorts: [{number: 1}]"),
        &rewrite(
            "old",
            "2026-01-01T00:00:00Z",
            "{targets: [{modelRewrite: all-old}]}, {matches: [{model: {value: m}}], targets: [{modelRewrite: m-old}]}",
        ),
        &rewrite(
            "a-new",
            "2026-02-01T00:00:00Z",
            "{matches: [{model: {value: m}}, {model: {value: o}}], targets: [{modelRewrite: m-new}]}, {matches: [{}], targets: [{modelRewrite: all-new}]}",
        ),
        &rewrite(
            "bad",
            "2025-01-01T00:00:00Z",
            "{targets: [{modelRewrite: a, weight: 1}, {modelRewrite: b}]}, {targets: []}, {matches: [{model: {type: Regex, value: x}}], targets: [{modelRewrite: a}]}",
        ),
    ]);
    let targets: Vec<&str> = all.pools[0]
        .rewrites
        .iter()
        .map(|rule| &*rule.targets[0].0)
        .collect();
    assert_eq!(targets, ["m-old", "m-new", "all-old", "all-new"]);
    assert_eq!(errors(&all).len(), 3);
}

#[test]
fn objectives_without_priority_have_0() {
    let objective = |name: &str, spec: &str| {
        format!(
            "{{apiVersion: inference.networking.x-k8s.io/v1alpha2, kind: InferenceObjective, metadata: {{name: {name}}}, spec: {{{spec}}}}}"
        )
    };
    let all = with(&[
        &pool("targetPorts: [{number: 1}]"),
        &objective("a", "poolRef: {name: p}"),
        &objective(
            "b",
            "priority: 7, poolRef: {name: p, group: inference.networking.k8s.io}",
        ),
        &objective("c", "priority: 7, poolRef: {name: other}"),
    ]);
    let found: Vec<(&str, i32)> = all.pools[0]
        .objectives
        .iter()
        .map(|(name, priority)| (&**name, *priority))
        .collect();
    assert_eq!(found, [("a", 0), ("b", 7)]);
    assert!(
        all.problems
            .iter()
            .any(|problem| problem.message.contains("`default/other` is not found"))
    );
}

#[test]
fn equal_worlds_have_equal_pools() {
    let objects = [
        pool("targetPorts: [{number: 1}]"),
        pod("a", "status: {podIP: 10.0.0.1}"),
    ];
    let one = with(&[&objects[0], &objects[1]]);
    let two = with(&[&objects[0], &objects[1]]);
    assert_eq!(one.pools, two.pools);
    let moved = with(&[&objects[0], &pod("a", "status: {podIP: 10.0.0.2}")]);
    assert_ne!(one.pools, moved.pools);
}

#[test]
fn a_picker_in_another_process_is_a_service_with_annotations() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: epp}\n\
                   spec: {ports: [{name: grpc, port: 9002}]}\n---\n\
                   apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n\
                   metadata: {name: epp-1, labels: {kubernetes.io/service-name: epp}}\n\
                   endpoints: [{addresses: [10.0.0.7]}]\nports: [{name: grpc, port: 9009}]\n";
    let spec = "targetPorts: [{number: 1}], endpointPickerRef: {name: epp, port: {number: 9002}}";
    let annotated = |annotations: &str| {
        let name = "metadata: {name: p";
        let pool = pool(spec);
        assert!(pool.contains(name), "{pool}");
        pool.replacen(name, &format!("{name}, annotations: {{{annotations}}}"), 1)
    };
    let of = |annotations: &str| with(&[&annotated(annotations), service]);
    let all = of("suimon.dev/picker-tls: verify, suimon.dev/picker-timeout: 2m");
    let PickerRef::Remote(remote) = &all.pools[0].picker else {
        panic!("{:?}", all.pools[0].picker);
    };
    assert_eq!(&*remote.service, "default/epp:9002");
    assert_eq!(&*remote.host, "epp.default.svc");
    assert_eq!(remote.addresses, [([10, 0, 0, 7], 9009).into()]);
    assert_eq!(remote.tls, suimon_routing::table::PickerTls::Verify);
    assert_eq!(remote.timeout, std::time::Duration::from_secs(120));
    for (annotations, told) in [
        (
            "suimon.dev/picker-tls: nonsense",
            "accepted: `skip-verify`, `verify`, `plaintext`",
        ),
        ("suimon.dev/picker-timeout: 10x", "`10x` is not a duration"),
        ("suimon.dev/picker-timeout: 0s", "must be above zero"),
        (
            "suimon.dev/picker-tsl: verify",
            "`suimon.dev/picker-tsl` is not known",
        ),
    ] {
        let all = of(annotations);
        let problems = format!("{:?}", all.problems);
        assert!(problems.contains(told), "{annotations}: {problems}");
    }
}
