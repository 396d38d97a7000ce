//! The compiled order against the text of the Gateway API, read again for each request.

use proptest::collection::vec;
use proptest::prelude::*;
use suimon_routing::{Translation, choose};

use crate::{GATEWAY, ask, join, translated};

const HOSTS: [&str; 5] = ["", "a.org", "*.org", "*.a.org", "b.a.org"];
const PATHS: [&str; 5] = ["/", "/a", "/a/b", "/ab", "/a/b/c"];
const NAMES: [&str; 2] = ["x", "z"];

/// One match of one rule, as plain indexes.
#[derive(Debug, Clone)]
struct Condition {
    exact: bool,
    path: usize,
    post: bool,
    headers: Vec<bool>,
    query: Vec<bool>,
}

#[derive(Debug, Clone)]
struct Route {
    host: usize,
    age: u8,
    rules: Vec<Vec<Condition>>,
}

#[derive(Debug, Clone)]
struct Request {
    host: usize,
    path: usize,
    post: bool,
    headers: Vec<bool>,
    query: Vec<bool>,
}

fn condition() -> impl Strategy<Value = Condition> {
    let flags = || vec(any::<bool>(), 2);
    (
        any::<bool>(),
        0..PATHS.len(),
        any::<bool>(),
        flags(),
        flags(),
    )
        .prop_map(|(exact, path, post, headers, query)| Condition {
            exact,
            path,
            post,
            headers,
            query,
        })
}

fn a_route() -> impl Strategy<Value = Route> {
    let rules = vec(vec(condition(), 1..3), 1..3);
    (0..HOSTS.len(), 0..3_u8, rules).prop_map(|(host, age, rules)| Route { host, age, rules })
}

fn request() -> impl Strategy<Value = Request> {
    let flags = || vec(any::<bool>(), 2);
    (0..4_usize, 0..PATHS.len(), any::<bool>(), flags(), flags()).prop_map(
        |(host, path, post, headers, query)| Request {
            host,
            path,
            post,
            headers,
            query,
        },
    )
}

fn document(index: usize, route: &Route) -> String {
    let pairs = |flags: &[bool]| {
        let all: Vec<String> = NAMES
            .iter()
            .zip(flags)
            .filter(|(_, wanted)| **wanted)
            .map(|(name, _)| format!("{{name: {name}, value: '1'}}"))
            .collect();
        all.join(", ")
    };
    let rules: Vec<String> = route
        .rules
        .iter()
        .map(|rule| {
            let matches: Vec<String> = rule
                .iter()
                .map(|one| {
                    format!(
                        "{{path: {{type: {}, value: {}}}, headers: [{}], queryParams: [{}]{}}}",
                        if one.exact { "Exact" } else { "PathPrefix" },
                        PATHS[one.path],
                        pairs(&one.headers),
                        pairs(&one.query),
                        if one.post { ", method: POST" } else { "" },
                    )
                })
                .collect();
            format!("{{matches: [{}]}}", matches.join(", "))
        })
        .collect();
    let hostnames = match HOSTS[route.host] {
        "" => String::new(),
        host => format!("hostnames: ['{host}'], "),
    };
    format!(
        "{{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {{name: r{index}, creationTimestamp: '2026-01-0{}T00:00:00Z'}}, spec: {{parentRefs: [{{name: g}}], {hostnames}rules: [{}]}}}}",
        route.age + 1,
        rules.join(", "),
    )
}

fn host_of(request: &Request) -> &'static str {
    ["a.org", "b.a.org", "c.b.a.org", "else.net"][request.host]
}

fn takes_host(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(suffix) => host.len() > suffix.len() && host.ends_with(suffix),
        None => pattern.is_empty() || pattern == host,
    }
}

fn holds(one: &Condition, request: &Request) -> bool {
    let path = PATHS[request.path];
    let wanted = PATHS[one.path];
    let segments = |text: &'static str| {
        text.split('/')
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
    };
    let path_holds = if one.exact {
        path == wanted
    } else {
        segments(path).starts_with(&segments(wanted))
    };
    let subset = |wanted: &[bool], given: &[bool]| wanted.iter().zip(given).all(|(w, g)| !w || *g);
    path_holds
        && (!one.post || request.post)
        && subset(&one.headers, &request.headers)
        && subset(&one.query, &request.query)
}

/// The winner by comparing all that hold, criterion by criterion.
fn naive(routes: &[Route], request: &Request) -> String {
    let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count();
    let mut best = None;
    for (index, route) in routes.iter().enumerate() {
        let host = HOSTS[route.host];
        if !takes_host(host, host_of(request)) {
            continue;
        }
        for (place, rule) in route.rules.iter().enumerate() {
            for (nth, one) in rule
                .iter()
                .enumerate()
                .filter(|(_, one)| holds(one, request))
            {
                let kind = match host {
                    "" => 0,
                    host if host.starts_with('*') => 1,
                    _ => 2,
                };
                let rank = (
                    (kind, host.len()),
                    (one.exact, PATHS[one.path].trim_end_matches('/').len()),
                    one.post,
                    count(&one.headers),
                    count(&one.query),
                    (
                        u8::MAX - route.age,
                        usize::MAX - index,
                        usize::MAX - place,
                        usize::MAX - nth,
                    ),
                );
                if best.as_ref().is_none_or(|(found, _)| rank > *found) {
                    best = Some((rank, format!("default/r{index}#{place}")));
                }
            }
        }
    }
    best.map_or_else(|| "404".to_owned(), |(_, name)| name)
}

fn compiled(translation: &Translation, request: &Request) -> String {
    let given = |flags: &[bool]| -> Vec<&'static str> {
        NAMES
            .iter()
            .zip(flags)
            .filter(|(_, given)| **given)
            .map(|(name, _)| *name)
            .collect()
    };
    let headers: Vec<(&str, &str)> = given(&request.headers)
        .into_iter()
        .map(|name| (name, "1"))
        .collect();
    let query: Vec<String> = given(&request.query)
        .into_iter()
        .map(|name| format!("{name}=1"))
        .collect();
    let path = format!("{}?{}", PATHS[request.path], query.join("&"));
    let method = if request.post { "POST" } else { "GET" };
    ask(translation, method, host_of(request), &path, &headers)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_matcher_agrees_with_a_naive_one(
        routes in vec(a_route(), 1..6),
        requests in vec(request(), 16),
    ) {
        let mut documents = vec![GATEWAY.to_owned()];
        documents.extend(routes.iter().enumerate().map(|(index, route)| document(index, route)));
        let texts: Vec<&str> = documents.iter().map(String::as_str).collect();
        let translation = translated(&join(&texts));
        for request in &requests {
            prop_assert_eq!(compiled(&translation, request), naive(&routes, request), "{:?}", request);
        }
    }
}

#[test]
fn a_rule_without_backend_chooses_none() {
    let translation = translated(&join(&[GATEWAY, &crate::route("r", "rules: [{}]")]));
    let rule = &translation.table.binds[0].listeners[0].matches[0].rule;
    assert!(choose(rule, 1).is_none());
}
