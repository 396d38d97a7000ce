//! Conditions of routes as requests meet them.

use crate::{GATEWAY, ask, errors, get, join, route, route_status, translated};

#[test]
fn a_route_without_rules_takes_every_path() {
    let all = translated(&join(&[GATEWAY, &route("r", "hostnames: []")]));
    assert_eq!(get(&all, "any.org", "/x/y"), "default/r#0");
}

#[test]
fn a_trailing_slash_of_a_prefix_does_not_count() {
    let rules = "rules: [{matches: [{path: {value: /foo/}}]}, {matches: [{path: {value: /}}]}]";
    let all = translated(&join(&[GATEWAY, &route("r", rules)]));
    for (path, expected) in [
        ("/foo", "#0"),
        ("/foo/", "#0"),
        ("/foo/x", "#0"),
        ("/foobar", "#1"),
        ("/", "#1"),
    ] {
        assert_eq!(
            get(&all, "h", path),
            format!("default/r{expected}"),
            "{path}"
        );
    }
}

#[test]
fn longer_patterns_come_first_and_patterns_are_anchored() {
    let one = route(
        "a",
        "rules: [{matches: [{path: {type: RegularExpression, value: '/.*'}}]}]",
    );
    let two = route(
        "b",
        "rules: [{matches: [{path: {type: RegularExpression, value: '/api/.*'}}]}]",
    );
    let all = translated(&join(&[GATEWAY, &one, &two]));
    assert_eq!(get(&all, "h", "/api/x"), "default/b#0");
    assert_eq!(get(&all, "h", "/x/api/x"), "default/a#0");
    let alternatives = route(
        "c",
        "rules: [{matches: [{path: {type: RegularExpression, value: '/a|/b'}}]}]",
    );
    let all = translated(&join(&[GATEWAY, &alternatives]));
    assert_eq!(get(&all, "h", "/b"), "default/c#0");
    assert_eq!(get(&all, "h", "/ax"), "404");
    assert_eq!(get(&all, "h", "/x/b"), "404");
}

#[test]
fn headers_that_differ_in_case_are_one_and_the_first_counts() {
    let rules =
        "rules: [{matches: [{headers: [{name: X-A, value: one}, {name: x-a, value: two}]}]}]";
    let all = translated(&join(&[GATEWAY, &route("r", rules)]));
    assert_eq!(ask(&all, "GET", "h", "/", &[("x-A", "one")]), "default/r#0");
    assert_eq!(ask(&all, "GET", "h", "/", &[("x-a", "two")]), "404");
    assert_eq!(ask(&all, "GET", "h", "/", &[("x-a", "One")]), "404");
}

#[test]
fn methods_and_query_parameters_are_conditions() {
    let rules =
        "rules: [{matches: [{method: POST, queryParams: [{name: v, value: '1'}]}, {method: PUT}]}]";
    let all = translated(&join(&[GATEWAY, &route("r", rules)]));
    assert_eq!(ask(&all, "POST", "h", "/?v=1", &[]), "default/r#0");
    assert_eq!(ask(&all, "POST", "h", "/?v=2", &[]), "404");
    assert_eq!(ask(&all, "PUT", "h", "/", &[]), "default/r#0");
}

#[test]
fn a_rule_whose_conditions_cannot_be_checked_is_dropped_alone() {
    for (bad, message) in [
        (
            "path: {type: Glob, value: /}",
            "path type `Glob` is not supported",
        ),
        (
            "path: {type: RegularExpression, value: '/a)|(/b'}",
            "regular expression `/a)|(/b` is not supported",
        ),
        (
            "path: {type: RegularExpression, value: '('}",
            "regular expression `(` is not supported",
        ),
        (
            "path: {type: RegularExpression, value: '(a{1000}){1000}'}",
            "regular expression",
        ),
        ("path: {value: /a/../b}", "path `/a/../b` cannot be matched"),
        ("path: {value: //a}", "path `//a` cannot be matched"),
        ("path: {value: /a%2fb}", "path `/a%2fb` cannot be matched"),
        ("path: {value: a}", "path `a` cannot be matched"),
        ("method: FETCH", "method `FETCH` is not supported"),
        (
            "headers: [{name: 'a b', value: c}]",
            "`a b` is not a header name",
        ),
        (
            "headers: [{type: Near, name: a, value: c}]",
            "type `Near` is not supported",
        ),
    ] {
        let rules =
            format!("rules: [{{matches: [{{{bad}}}]}}, {{matches: [{{path: {{value: /ok}}}}]}}]");
        let all = translated(&join(&[GATEWAY, &route("r", &rules)]));
        assert_eq!(get(&all, "h", "/ok"), "default/r#1", "{bad}");
        assert_eq!(get(&all, "h", "/b"), "404", "{bad}");
        assert!(
            errors(&all).iter().any(|error| error.contains(message)),
            "{bad}: {:?}",
            errors(&all)
        );
        assert_eq!(
            route_status(&all, "r"),
            [[
                "Accepted=True/Accepted",
                "ResolvedRefs=True/ResolvedRefs",
                "PartiallyInvalid=True/UnsupportedValue"
            ]]
        );
    }
}

#[test]
fn a_route_without_any_usable_rule_is_not_accepted() {
    let all = translated(&join(&[
        GATEWAY,
        &route("r", "rules: [{matches: [{method: FETCH}]}]"),
    ]));
    assert_eq!(
        route_status(&all, "r"),
        [[
            "Accepted=False/UnsupportedValue",
            "ResolvedRefs=True/ResolvedRefs"
        ]]
    );
    assert_eq!(
        all.statuses.gateways.values().next().unwrap().listeners[0].attached_routes,
        0
    );
}

#[test]
fn encoded_paths_of_routes_match_the_form_of_requests() {
    let all = translated(&join(&[
        GATEWAY,
        &route("r", "rules: [{matches: [{path: {value: '/%61%3f'}}]}]"),
    ]));
    let path = suimon_routing::path::normalize("/a%3F/x").unwrap();
    assert_eq!(get(&all, "h", &path), "default/r#0");
}
