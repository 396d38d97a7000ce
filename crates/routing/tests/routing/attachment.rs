//! Which routes attach to which listeners, and what the statuses say.

use crate::{GATEWAY, conditions, errors, get, join, route, route_status, translated};
use suimon_routing::{Key, TranslateOptions, translate};

const ACCEPTED: [&str; 2] = ["Accepted=True/Accepted", "ResolvedRefs=True/ResolvedRefs"];

fn gateway(listeners: &str) -> String {
    format!(
        "{{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{name: g}}, \
         spec: {{gatewayClassName: c, listeners: [{listeners}]}}}}"
    )
}

fn with_parent(parent: &str, namespace: &str) -> String {
    format!(
        "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: r, namespace: {namespace}}}, \
         spec: {{parentRefs: [{parent}]}}}}"
    )
}

fn listener(all: &suimon_routing::Translation, index: usize) -> Vec<String> {
    conditions(&all.statuses.gateways[&Key::new("default", "g")].listeners[index].conditions)
}

#[test]
fn a_route_to_a_gateway_that_is_not_there_has_no_entry() {
    let all = translated(&route("r", "rules: []"));
    assert!(route_status(&all, "r").is_empty());
    assert_eq!(
        all.problems[0].to_string(),
        "warning: HTTPRoute `default/r`: `spec.parentRefs[0]`: Gateway `default/g` is not found; the route is not attached to it"
    );
}

#[test]
fn a_gateway_of_another_controller_is_left_alone() {
    let class = "{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: suimon}, spec: {controllerName: example.com/other}}";
    let all = translated(&join(&[GATEWAY, class, &route("r", "rules: []")]));
    assert!(all.table.binds.is_empty());
    assert!(all.statuses.gateways.is_empty());
    assert!(route_status(&all, "r").is_empty());
}

#[test]
fn in_a_cluster_a_gateway_without_class_is_not_ours() {
    let options = TranslateOptions {
        standalone: false,
        ..TranslateOptions::default()
    };
    let all = translate(&crate::world(GATEWAY), &options);
    assert!(all.statuses.gateways.is_empty());
}

#[test]
fn section_name_and_port_must_both_match() {
    let gateway =
        gateway("{name: a, port: 80, protocol: HTTP}, {name: b, port: 81, protocol: HTTP}");
    for (parent, expected) in [
        ("{name: g}", "Accepted=True/Accepted"),
        ("{name: g, sectionName: a}", "Accepted=True/Accepted"),
        ("{name: g, port: 81}", "Accepted=True/Accepted"),
        (
            "{name: g, sectionName: a, port: 81}",
            "Accepted=False/NoMatchingParent",
        ),
        (
            "{name: g, sectionName: c}",
            "Accepted=False/NoMatchingParent",
        ),
        ("{name: g, port: 82}", "Accepted=False/NoMatchingParent"),
    ] {
        let all = translated(&join(&[&gateway, &with_parent(parent, "default")]));
        assert_eq!(route_status(&all, "r")[0][0], expected, "{parent}");
    }
}

#[test]
fn namespaces_are_allowed_by_the_listener() {
    let label = "{apiVersion: v1, kind: Namespace, metadata: {name: red, labels: {team: red}}}";
    for (from, expected) in [
        ("{from: Same}", "Accepted=False/NotAllowedByListeners"),
        ("{from: All}", "Accepted=True/Accepted"),
        (
            "{from: Selector, selector: {matchLabels: {team: red}}}",
            "Accepted=True/Accepted",
        ),
        (
            "{from: Selector, selector: {matchLabels: {team: blue}}}",
            "Accepted=False/NotAllowedByListeners",
        ),
        (
            "{from: Selector, selector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [red]}]}}",
            "Accepted=True/Accepted",
        ),
        ("{from: Selector}", "Accepted=False/NotAllowedByListeners"),
    ] {
        let gateway = gateway(&format!(
            "{{name: a, port: 80, protocol: HTTP, allowedRoutes: {{namespaces: {from}}}}}"
        ));
        let all = translated(&join(&[
            &gateway,
            label,
            &with_parent("{name: g, namespace: default}", "red"),
        ]));
        let status = &all.statuses.routes[&Key::new("red", "r")];
        assert_eq!(conditions(&status[0].conditions)[0], expected, "{from}");
    }
}

#[test]
fn kinds_that_are_not_supported_leave_none() {
    let gateway = gateway(
        "{name: a, port: 80, protocol: HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}]}}, {name: b, port: 81, protocol: HTTP, allowedRoutes: {kinds: [{kind: TCPRoute}, {kind: HTTPRoute}]}}",
    );
    let all = translated(&join(&[
        &gateway,
        &with_parent("{name: g, sectionName: a}", "default"),
    ]));
    let listeners = &all.statuses.gateways[&Key::new("default", "g")].listeners;
    assert!(listeners[0].supported_kinds.is_empty());
    assert_eq!(listeners[1].supported_kinds, ["HTTPRoute"]);
    assert!(listener(&all, 0).contains(&"ResolvedRefs=False/InvalidRouteKinds".to_owned()));
    assert!(listener(&all, 1).contains(&"ResolvedRefs=False/InvalidRouteKinds".to_owned()));
    assert_eq!(
        route_status(&all, "r")[0][0],
        "Accepted=False/NotAllowedByListeners"
    );
}

#[test]
fn hostnames_meet_in_the_narrower_one() {
    for (own, route_hosts, host, expected) in [
        (
            "very.specific.com",
            "[non.matching.com]",
            "non.matching.com",
            "404",
        ),
        (
            "very.specific.com",
            "['*.specific.com']",
            "very.specific.com",
            "default/r#0",
        ),
        (
            "very.specific.com",
            "['*.specific.com']",
            "other.specific.com",
            "404",
        ),
        (
            "'*.wildcard.io'",
            "[foo.wildcard.io]",
            "foo.wildcard.io",
            "default/r#0",
        ),
        (
            "'*.wildcard.io'",
            "[foo.wildcard.io]",
            "bar.wildcard.io",
            "404",
        ),
        (
            "'*.example.com'",
            "['*.foo.example.com']",
            "a.foo.example.com",
            "default/r#0",
        ),
        (
            "'*.example.com'",
            "['*.foo.example.com']",
            "a.example.com",
            "404",
        ),
        (
            "'*.foo.example.com'",
            "['*.example.com']",
            "b.foo.example.com",
            "default/r#0",
        ),
        ("'*.example.com'", "[example.com]", "example.com", "404"),
        ("'*.example.com'", "[]", "x.example.com", "default/r#0"),
    ] {
        let gateway = gateway(&format!(
            "{{name: a, port: 80, protocol: HTTP, hostname: {own}}}"
        ));
        let all = translated(&join(&[
            &gateway,
            &route("r", &format!("hostnames: {route_hosts}")),
        ]));
        assert_eq!(get(&all, host, "/"), expected, "{own} {route_hosts} {host}");
    }
}

#[test]
fn hostnames_apart_are_not_accepted() {
    let gateway = gateway("{name: a, port: 80, protocol: HTTP, hostname: a.org}");
    for hostnames in ["[b.org]", "['not a host']", "[10.0.0.1]"] {
        let all = translated(&join(&[
            &gateway,
            &route("r", &format!("hostnames: {hostnames}")),
        ]));
        assert_eq!(
            route_status(&all, "r")[0][0],
            "Accepted=False/NoMatchingListenerHostname"
        );
        assert_eq!(get(&all, "a.org", "/"), "404", "{hostnames}");
    }
}

#[test]
fn two_parent_refs_to_one_listener_attach_once() {
    let route = "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {parentRefs: [{name: g}, {name: g, sectionName: http}]}}";
    let all = translated(&join(&[GATEWAY, route]));
    assert_eq!(route_status(&all, "r"), [ACCEPTED, ACCEPTED]);
    let status = &all.statuses.gateways[&Key::new("default", "g")];
    assert_eq!(status.listeners[0].attached_routes, 1);
    assert_eq!(all.table.binds[0].listeners[0].matches.len(), 1);
}

#[test]
fn listeners_of_one_gateway_that_conflict_have_no_winner() {
    let all = translated(&gateway(
        "{name: a, port: 80, protocol: HTTP, hostname: a.org}, {name: b, port: 80, protocol: HTTP, hostname: a.org}, {name: c, port: 80, protocol: HTTP}",
    ));
    for index in [0, 1] {
        assert_eq!(
            listener(&all, index),
            [
                "Accepted=False/HostnameConflict",
                "Programmed=False/HostnameConflict",
                "ResolvedRefs=True/ResolvedRefs",
                "Conflicted=True/HostnameConflict"
            ]
        );
    }
    assert_eq!(listener(&all, 2)[0], "Accepted=True/Accepted");
    let status = &all.statuses.gateways[&Key::new("default", "g")];
    assert_eq!(
        conditions(&status.conditions)[0],
        "Accepted=True/ListenersNotValid"
    );
    assert_eq!(all.table.binds[0].listeners.len(), 1);
}

#[test]
fn two_protocols_on_one_port_conflict() {
    let all = translated(&gateway(
        "{name: a, port: 80, protocol: HTTP}, {name: b, port: 80, protocol: HTTPS}",
    ));
    assert_eq!(listener(&all, 0)[0], "Accepted=False/ProtocolConflict");
    assert_eq!(listener(&all, 1)[0], "Accepted=False/ProtocolConflict");
    assert!(all.table.binds.is_empty());
}

#[test]
fn a_gateway_with_only_unknown_protocols_is_not_accepted() {
    let all = translated(&gateway("{name: a, port: 80, protocol: INVALID}"));
    let status = &all.statuses.gateways[&Key::new("default", "g")];
    assert_eq!(
        conditions(&status.conditions)[0],
        "Accepted=False/ListenersNotValid"
    );
    assert_eq!(listener(&all, 0)[0], "Accepted=False/UnsupportedProtocol");
    assert!(status.listeners[0].supported_kinds.is_empty());
}

#[test]
fn the_older_gateway_keeps_a_port_and_other_hosts_share_it() {
    let one = |name: &str, created: &str, listener: &str| {
        format!(
            "{{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{name: {name}, creationTimestamp: '{created}'}}, spec: {{gatewayClassName: c, listeners: [{listener}]}}}}"
        )
    };
    let all = translated(&join(&[
        &one(
            "a",
            "2026-01-02T00:00:00Z",
            "{name: l, port: 80, protocol: HTTP}, {name: m, port: 80, protocol: HTTP, hostname: m.org}",
        ),
        &one(
            "b",
            "2026-01-01T00:00:00Z",
            "{name: l, port: 80, protocol: HTTP}",
        ),
    ]));
    let names: Vec<&str> = all.table.binds[0]
        .listeners
        .iter()
        .map(|it| &*it.name)
        .collect();
    assert_eq!(names, ["default/a/m", "default/b/l"]);
    let status = &all.statuses.gateways[&Key::new("default", "a")];
    assert_eq!(
        conditions(&status.listeners[0].conditions)[0],
        "Accepted=False/PortUnavailable"
    );
}

#[test]
fn validation_of_client_certificates_is_not_left_out_silently() {
    let text = "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g}, spec: {gatewayClassName: c, tls: {frontend: {default: {validation: {}}}}, listeners: [{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: x}]}}, {name: b, port: 80, protocol: HTTP}]}}";
    let all = translated(text);
    assert_eq!(listener(&all, 0)[0], "Accepted=False/UnsupportedValue");
    assert_eq!(listener(&all, 1)[0], "Accepted=True/Accepted");
}

#[test]
fn parameters_and_foreign_addresses_are_refused() {
    for (spec, accepted, programmed) in [
        (
            "infrastructure: {parametersRef: {group: g, kind: k, name: n}}",
            "Accepted=False/InvalidParameters",
            "Programmed=False/Invalid",
        ),
        (
            "addresses: [{type: Hostname, value: a.org}]",
            "Accepted=False/UnsupportedAddress",
            "Programmed=False/Invalid",
        ),
        (
            "addresses: [{value: nonsense}]",
            "Accepted=True/Accepted",
            "Programmed=False/AddressNotUsable",
        ),
    ] {
        let all = translated(&format!(
            "{{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {{name: g}}, spec: {{gatewayClassName: c, {spec}, listeners: [{{name: a, port: 80, protocol: HTTP}}]}}}}"
        ));
        let status = conditions(&all.statuses.gateways[&Key::new("default", "g")].conditions);
        assert_eq!(
            (status[0].as_str(), status[1].as_str()),
            (accepted, programmed)
        );
        assert!(all.table.binds.is_empty());
        assert!(!errors(&all).is_empty());
    }
}

#[test]
fn long_names_that_begin_alike_stay_apart() {
    let stem = "a".repeat(60);
    let names = [format!("{stem}xyz"), format!("{stem}{}", "b".repeat(193))];
    let routes: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            route(
                name,
                &format!("rules: [{{matches: [{{path: {{value: /{index}}}}}]}}]"),
            )
        })
        .collect();
    let all = translated(&join(&[GATEWAY, &routes[0], &routes[1]]));
    for (index, name) in names.iter().enumerate() {
        assert_eq!(
            get(&all, "h", &format!("/{index}")),
            format!("default/{name}#0")
        );
    }
}
