//! Filters that cannot be applied fail requests; they are never left out.

use suimon_routing::table::Filter;

use crate::{GATEWAY, errors, get, join, route, route_status, translated};

fn filters(translation: &suimon_routing::Translation) -> &[Filter] {
    &translation.table.binds[0].listeners[0].matches[0]
        .rule
        .filters
}

#[test]
fn filters_that_are_not_supported_fail_the_rule() {
    for (filter, reason) in [
        (
            "{type: CORS, cors: {allowOrigins: ['*']}}",
            "UnsupportedValue",
        ),
        (
            "{type: ExtensionRef, extensionRef: {group: a, kind: b, name: c}}",
            "UnsupportedValue",
        ),
        ("{type: ExternalAuth, externalAuth: {}}", "UnsupportedValue"),
        ("{type: Tomorrow}", "UnsupportedValue"),
        ("{type: RequestRedirect}", "UnsupportedValue"),
        (
            "{type: RequestRedirect, requestRedirect: {statusCode: 200}}",
            "UnsupportedValue",
        ),
        (
            "{type: RequestRedirect, requestRedirect: {scheme: ftp}}",
            "UnsupportedValue",
        ),
        (
            "{type: RequestRedirect, requestRedirect: {hostname: '*.a.org'}}",
            "UnsupportedValue",
        ),
        (
            "{type: URLRewrite, urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: '/a b'}}}",
            "UnsupportedValue",
        ),
        (
            "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: 'a b', value: c}]}}",
            "UnsupportedValue",
        ),
        (
            "{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: \"b\\nc\"}]}}",
            "UnsupportedValue",
        ),
        (
            "{type: URLRewrite, urlRewrite: {}}, {type: URLRewrite, urlRewrite: {}}",
            "IncompatibleFilters",
        ),
        (
            "{type: RequestRedirect, requestRedirect: {}}, {type: URLRewrite, urlRewrite: {}}",
            "IncompatibleFilters",
        ),
    ] {
        let all = translated(&join(&[
            GATEWAY,
            &route("r", &format!("rules: [{{filters: [{filter}]}}]")),
        ]));
        assert!(
            filters(&all)
                .iter()
                .any(|one| matches!(one, Filter::Invalid { .. })),
            "{filter}"
        );
        assert_eq!(
            route_status(&all, "r")[0][0],
            format!("Accepted=False/{reason}"),
            "{filter}"
        );
        assert_eq!(
            get(&all, "h", "/"),
            "default/r#0",
            "requests do not fall to another rule"
        );
        assert!(!errors(&all).is_empty());
    }
}

#[test]
fn a_prefix_is_replaced_only_where_there_is_one() {
    let rules = |matches: &str| {
        let rules = format!(
            "rules: [{{matches: {matches}, filters: [{{type: URLRewrite, urlRewrite: {{path: {{type: ReplacePrefixMatch, replacePrefixMatch: /x/}}}}}}]}}]"
        );
        translated(&join(&[GATEWAY, &route("r", &rules)]))
    };
    for good in [
        "[]",
        "[{path: {value: /a}}]",
        "[{headers: [{name: a, value: b}]}]",
    ] {
        assert!(
            matches!(filters(&rules(good)), [Filter::Rewrite(_)]),
            "{good}"
        );
    }
    for bad in [
        "[{path: {type: Exact, value: /a}}]",
        "[{path: {value: /a}}, {path: {value: /b}}]",
    ] {
        assert!(
            matches!(filters(&rules(bad)), [Filter::Invalid { .. }]),
            "{bad}"
        );
    }
}

#[test]
fn a_mirror_to_nowhere_is_left_out_and_reported() {
    let rules = "rules: [{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: x, port: 80}}}]}]";
    let all = translated(&join(&[GATEWAY, &route("r", rules)]));
    assert!(filters(&all).is_empty());
    assert_eq!(
        route_status(&all, "r"),
        [[
            "Accepted=True/Accepted",
            "ResolvedRefs=False/BackendNotFound"
        ]]
    );
}

#[test]
fn one_bad_rule_does_not_take_the_others_with_it() {
    let rules = "rules: [{matches: [{path: {value: /a}}], filters: [{type: CORS}]}, {matches: [{path: {value: /b}}]}]";
    let all = translated(&join(&[GATEWAY, &route("r", rules)]));
    assert_eq!(
        route_status(&all, "r"),
        [[
            "Accepted=True/Accepted",
            "ResolvedRefs=True/ResolvedRefs",
            "PartiallyInvalid=True/UnsupportedValue"
        ]]
    );
    let message = &all.statuses.routes.values().next().unwrap()[0].conditions[2].message;
    assert!(message.starts_with("Dropped Rule"), "{message}");
}

#[test]
fn limits_that_cannot_be_read_fail_the_rule_and_zero_is_no_limit() {
    let timeouts = |timeouts: &str| {
        let rules = format!("rules: [{{timeouts: {timeouts}}}]");
        translated(&join(&[GATEWAY, &route("r", &rules)]))
    };
    for bad in [
        "{request: 1.5s}",
        "{request: '10'}",
        "{backendRequest: soon}",
    ] {
        let all = timeouts(bad);
        assert!(matches!(filters(&all), [Filter::Invalid { .. }]), "{bad}");
        assert_eq!(
            route_status(&all, "r")[0][0],
            "Accepted=False/UnsupportedValue"
        );
    }
    let all = timeouts("{request: 0s, backendRequest: 1m}");
    let rule = &all.table.binds[0].listeners[0].matches[0].rule;
    assert_eq!(rule.timeouts.request, None);
    assert_eq!(
        rule.timeouts.backend_request,
        Some(std::time::Duration::from_secs(60))
    );
}
