//! Where rules lead: Services, pools, grants and weights.

use suimon_routing::choose;
use suimon_routing::table::Backend;

use crate::render::backend;
use crate::{GATEWAY, get, join, route, route_status, translated};

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{name: a, port: 80}, {name: h2, port: 81, appProtocol: kubernetes.io/h2c}, {name: ws, port: 82, appProtocol: kubernetes.io/ws}, {name: wss, port: 83, appProtocol: kubernetes.io/wss}]}}";
const SLICE: &str = "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, metadata: {name: s-1, labels: {kubernetes.io/service-name: s}}, endpoints: [{addresses: [10.0.0.1]}], ports: [{name: a, port: 8080}, {name: h2, port: 8081}]}";
const POOL: &str = "{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool, metadata: {name: p}, spec: {selector: {matchLabels: {a: b}}, targetPorts: [{number: 8000}]}}";

fn backends(translation: &suimon_routing::Translation) -> Vec<(u32, String)> {
    let rule = &translation.table.binds[0].listeners[0].matches[0].rule;
    rule.backends
        .iter()
        .map(|one| (one.weight, backend(&one.backend)))
        .collect()
}

#[test]
fn bad_references_keep_their_share_and_are_reported() {
    for (reference, reason) in [
        ("{name: missing, port: 80}", "BackendNotFound"),
        ("{name: s, port: 99}", "BackendNotFound"),
        ("{name: s}", "BackendNotFound"),
        ("{name: s, port: 83}", "UnsupportedProtocol"),
        ("{name: x, kind: Bucket, group: example.com}", "InvalidKind"),
        ("{name: x, namespace: other, port: 80}", "RefNotPermitted"),
        (
            "{name: x, kind: InferencePool, group: inference.networking.k8s.io}",
            "BackendNotFound",
        ),
        (
            "{name: p, kind: InferencePool, group: inference.networking.k8s.io, namespace: other}",
            "RefNotPermitted",
        ),
    ] {
        let rules =
            format!("rules: [{{backendRefs: [{{name: s, port: 80, weight: 6}}, {reference}]}}]");
        let all = translated(&join(&[GATEWAY, SERVICE, SLICE, &route("r", &rules)]));
        assert_eq!(
            route_status(&all, "r"),
            [[
                "Accepted=True/Accepted".to_owned(),
                format!("ResolvedRefs=False/{reason}")
            ]],
            "{reference}"
        );
        let found = backends(&all);
        assert_eq!(
            found[0],
            (6, "default/s:80 Http1 [10.0.0.1:8080]".to_owned())
        );
        assert!(
            found[1].0 == 1 && found[1].1.starts_with("invalid"),
            "{found:?}"
        );
    }
}

#[test]
fn a_missing_service_of_weight_4_of_10_fails_four_in_ten() {
    let rules = "rules: [{backendRefs: [{name: s, port: 80, weight: 6}, {name: missing, port: 80, weight: 4}]}]";
    let all = translated(&join(&[GATEWAY, SERVICE, SLICE, &route("r", rules)]));
    let rule = &all.table.binds[0].listeners[0].matches[0].rule;
    let step = u64::MAX / 10_000;
    let failed = (0..10_000)
        .filter(|index| {
            matches!(
                choose(rule, index * step).unwrap().backend,
                Backend::Invalid { .. }
            )
        })
        .count();
    assert!((3_990..=4_010).contains(&failed), "{failed}");
}

#[test]
fn a_service_without_endpoints_and_a_pool_without_members_stay_valid() {
    let rules = "rules: [{backendRefs: [{name: s, port: 80}, {name: p, kind: InferencePool, group: inference.networking.k8s.io, weight: 0}]}]";
    let all = translated(&join(&[GATEWAY, SERVICE, POOL, &route("r", rules)]));
    assert_eq!(
        route_status(&all, "r")[0][1],
        "ResolvedRefs=True/ResolvedRefs"
    );
    assert_eq!(
        backends(&all),
        [
            (1, "default/s:80 Http1 []".to_owned()),
            (0, "pool 0".to_owned())
        ]
    );
    assert!(all.pools[0].members.is_empty());
}

#[test]
fn a_rule_without_backends_still_takes_its_requests() {
    for rules in ["rules: [{}]", "rules: [{backendRefs: []}]"] {
        let all = translated(&join(&[GATEWAY, &route("r", rules)]));
        assert_eq!(get(&all, "h", "/"), "default/r#0");
        assert!(backends(&all).is_empty());
    }
}

#[test]
fn app_protocol_says_what_endpoints_speak() {
    let rules = "rules: [{backendRefs: [{name: s, port: 81}, {name: s, port: 82}]}]";
    let all = translated(&join(&[GATEWAY, SERVICE, SLICE, &route("r", rules)]));
    assert_eq!(
        backends(&all),
        [
            (1, "default/s:81 H2c [10.0.0.1:8081]".to_owned()),
            (1, "default/s:82 Http1 []".to_owned())
        ]
    );
}

#[test]
fn external_names_are_refused() {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {type: ExternalName, externalName: a.org, ports: [{port: 80}]}}";
    let all = translated(&join(&[
        GATEWAY,
        service,
        &route("r", "rules: [{backendRefs: [{name: s, port: 80}]}]"),
    ]));
    assert_eq!(
        route_status(&all, "r")[0][1],
        "ResolvedRefs=False/InvalidKind"
    );
}

#[test]
fn a_grant_of_the_target_namespace_opens_what_it_names() {
    let target = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: other}, spec: {ports: [{port: 80}]}}";
    let rules = "rules: [{backendRefs: [{name: s, namespace: other, port: 80}]}]";
    for (from, to, namespace, expected) in [
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}",
            "{group: '', kind: Service}",
            "other",
            "True/ResolvedRefs",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}",
            "{group: '', kind: Service, name: s}",
            "other",
            "True/ResolvedRefs",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}",
            "{group: '', kind: Service, name: t}",
            "other",
            "False/RefNotPermitted",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}",
            "{group: '', kind: Secret}",
            "other",
            "False/RefNotPermitted",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: Gateway, namespace: default}",
            "{group: '', kind: Service}",
            "other",
            "False/RefNotPermitted",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: third}",
            "{group: '', kind: Service}",
            "other",
            "False/RefNotPermitted",
        ),
        (
            "{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: default}",
            "{group: '', kind: Service}",
            "default",
            "False/RefNotPermitted",
        ),
    ] {
        let grant = format!(
            "{{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {{name: x, namespace: {namespace}}}, spec: {{from: [{from}], to: [{to}]}}}}"
        );
        let all = translated(&join(&[GATEWAY, target, &grant, &route("r", rules)]));
        assert_eq!(
            route_status(&all, "r")[0][1],
            format!("ResolvedRefs={expected}"),
            "{grant}"
        );
    }
}

#[test]
fn a_certificate_of_another_namespace_needs_a_grant() {
    let gateway = "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g}, spec: {gatewayClassName: c, listeners: [{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: c, namespace: certs}]}}]}}";
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: c, namespace: certs}, stringData: {tls.crt: \"-----BEGIN CERTIFICATE-----\\n-----END CERTIFICATE-----\", tls.key: \"-----BEGIN EC PRIVATE KEY-----\\n-----END EC PRIVATE KEY-----\"}}";
    let grant = "{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: x, namespace: certs}, spec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: default}], to: [{group: '', kind: Secret}]}}";
    let without = translated(&join(&[gateway, secret]));
    assert!(without.table.binds.is_empty());
    let status = without.statuses.gateways.values().next().unwrap();
    assert!(
        crate::conditions(&status.listeners[0].conditions)
            .contains(&"ResolvedRefs=False/RefNotPermitted".to_owned())
    );
    let with = translated(&join(&[gateway, secret, grant]));
    assert_eq!(
        with.table.binds[0].listeners[0].certificates[0].name,
        "certs/c"
    );
}
