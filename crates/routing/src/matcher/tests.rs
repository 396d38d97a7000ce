use std::sync::Arc;

use http::HeaderMap;
use regex::Regex;

use super::*;
use crate::table::Timeouts;

fn rule(index: usize) -> Arc<Rule> {
    Arc::new(Rule {
        route: Arc::from("default/r"),
        index,
        filters: Vec::new(),
        backends: Vec::new(),
        timeouts: Timeouts::default(),
    })
}

fn any(index: usize) -> RankedMatch {
    RankedMatch {
        hostname: Hostname::Any,
        path: PathMatch::Prefix("".into()),
        method: None,
        headers: Vec::new(),
        query: Vec::new(),
        rule: rule(index),
    }
}

fn listener(name: &str, hostname: Hostname, matches: Vec<RankedMatch>) -> Listener {
    Listener {
        name: Arc::from(name),
        hostname,
        certificates: Vec::new(),
        matches,
        needs_model: false,
    }
}

fn bind(protocol: Protocol, listeners: Vec<Listener>) -> Bind {
    Bind {
        address: "0.0.0.0:80".parse().unwrap(),
        protocol,
        listeners,
    }
}

fn one(matches: Vec<RankedMatch>) -> Bind {
    bind(
        Protocol::Http,
        vec![listener("all", Hostname::Any, matches)],
    )
}

/// Index of the rule, or the outcome's name.
fn show(outcome: Outcome<'_>) -> String {
    match outcome {
        Outcome::Matched(found) => found.rule.index.to_string(),
        Outcome::NeedsModel => "needs model".to_owned(),
        Outcome::NotFound => "404".to_owned(),
        Outcome::Misdirected => "421".to_owned(),
    }
}

fn get<'a>(host: &'a str, path: &'a str, headers: &'a HeaderMap) -> Head<'a> {
    Head {
        method: &Method::GET,
        host,
        path,
        query: None,
        headers,
    }
}

fn path(bind: &Bind, path: &str) -> String {
    show(bind.route(&get("h", path, &HeaderMap::new()), None, Model::Unread))
}

#[test]
fn a_prefix_ends_at_a_segment_border() {
    let mut found = any(0);
    found.path = PathMatch::Prefix("/foo".into());
    let bind = one(vec![found]);
    for inside in ["/foo", "/foo/", "/foo/bar"] {
        assert_eq!(path(&bind, inside), "0", "{inside}");
    }
    for outside in ["/foobar", "/foo;x", "/fo", "/", "/bar/foo", "/FOO"] {
        assert_eq!(path(&bind, outside), "404", "{outside}");
    }
}

#[test]
fn the_matched_prefix_is_reported() {
    let mut found = any(0);
    found.path = PathMatch::Prefix("/foo".into());
    let bind = one(vec![found]);
    let headers = HeaderMap::new();
    let Outcome::Matched(matched) =
        bind.route(&get("h", "/foo/bar", &headers), None, Model::Unread)
    else {
        panic!("no match");
    };
    assert_eq!(matched.prefix, Some("/foo"));
}

#[test]
fn an_exact_path_has_no_trailing_slash_to_spare() {
    let mut found = any(0);
    found.path = PathMatch::Exact("/foo".into());
    let bind = one(vec![found]);
    assert_eq!(path(&bind, "/foo"), "0");
    assert_eq!(path(&bind, "/foo/"), "404");
}

#[test]
fn repeated_headers_are_joined_by_commas() {
    let with = |value| {
        let mut found = any(0);
        found.headers = vec![HeaderMatch {
            name: HeaderName::from_static("x-a"),
            value,
        }];
        one(vec![found])
    };
    let mut headers = HeaderMap::new();
    headers.append("x-a", HeaderValue::from_static("1"));
    headers.append("x-a", HeaderValue::from_static("2"));
    let ask = |bind: &Bind, headers: &HeaderMap| {
        show(bind.route(&get("h", "/", headers), None, Model::Unread))
    };
    assert_eq!(ask(&with(ValueMatch::Exact("1,2".into())), &headers), "0");
    assert_eq!(ask(&with(ValueMatch::Exact("1".into())), &headers), "404");
    assert_eq!(
        ask(&with(ValueMatch::Exact("1,2,".into())), &headers),
        "404"
    );
    assert_eq!(ask(&with(ValueMatch::Exact("12".into())), &headers), "404");
    let regex = ValueMatch::Regex(Regex::new("^(?:[0-9],[0-9])$").unwrap());
    assert_eq!(ask(&with(regex), &headers), "0");
    assert_eq!(
        ask(&with(ValueMatch::Exact("1".into())), &HeaderMap::new()),
        "404"
    );
}

#[test]
fn the_first_query_parameter_of_a_name_decides() {
    let mut found = any(0);
    found.query = vec![QueryMatch {
        name: "animal".into(),
        value: ValueMatch::Exact("blue whale".into()),
    }];
    let bind = one(vec![found]);
    let headers = HeaderMap::new();
    let ask = |query| {
        let head = Head {
            query: Some(query),
            ..get("h", "/", &headers)
        };
        show(bind.route(&head, None, Model::Unread))
    };
    assert_eq!(ask("animal=blue%20whale"), "0");
    assert_eq!(ask("a=1&%61nimal=blue%20whale&animal=x"), "0");
    assert_eq!(ask("animal=x&animal=blue%20whale"), "404");
    assert_eq!(ask("Animal=blue%20whale"), "404");
    assert_eq!(ask("animal"), "404");
    assert_eq!(ask("animal=blue%2"), "404");
    assert_eq!(ask(""), "404");
}

fn for_model(index: usize, model: &str) -> RankedMatch {
    let mut found = any(index);
    found.headers = vec![HeaderMatch {
        name: MODEL_HEADER,
        value: ValueMatch::Exact(model.into()),
    }];
    found
}

#[test]
fn a_match_on_the_model_asks_for_the_body_first() {
    let bind = one(vec![for_model(0, "llama"), any(1)]);
    let headers = HeaderMap::new();
    let head = get("h", "/", &headers);
    assert_eq!(show(bind.route(&head, None, Model::Unread)), "needs model");
    assert_eq!(
        show(bind.route(&head, None, Model::Read(Some("llama")))),
        "0"
    );
    assert_eq!(
        show(bind.route(&head, None, Model::Read(Some("qwen")))),
        "1"
    );
    assert_eq!(show(bind.route(&head, None, Model::Read(None))), "1");
}

#[test]
fn the_model_is_not_asked_for_when_it_cannot_decide() {
    let mut elsewhere = for_model(0, "llama");
    elsewhere.path = PathMatch::Exact("/v1/completions".into());
    let bind = one(vec![elsewhere, any(1), for_model(2, "late")]);
    assert_eq!(path(&bind, "/"), "1");
    assert_eq!(path(&bind, "/v1/completions"), "needs model");
}

#[test]
fn a_clients_model_header_is_never_looked_at() {
    let bind = one(vec![for_model(0, "llama")]);
    let mut headers = HeaderMap::new();
    headers.insert(MODEL_HEADER, HeaderValue::from_static("llama"));
    let head = get("h", "/", &headers);
    assert_eq!(show(bind.route(&head, None, Model::Read(None))), "404");
    assert_eq!(
        show(bind.route(&head, None, Model::Read(Some("qwen")))),
        "404"
    );
}

#[test]
fn a_wildcard_takes_any_depth_but_not_its_own_name() {
    let pattern = Hostname::Suffix(".example.com".into());
    assert!(pattern.matches("a.example.com"));
    assert!(pattern.matches("a.b.example.com"));
    assert!(!pattern.matches("example.com"));
    assert!(!pattern.matches("badexample.com"));
}

#[test]
fn the_most_specific_listener_takes_the_request_alone() {
    let mut only_foo = any(0);
    only_foo.path = PathMatch::Exact("/foo".into());
    let bind = bind(
        Protocol::Http,
        vec![
            listener(
                "exact",
                Hostname::Exact("a.example.com".into()),
                vec![only_foo],
            ),
            listener("all", Hostname::Any, vec![any(1)]),
        ],
    );
    let headers = HeaderMap::new();
    let ask = |host, path| show(bind.route(&get(host, path, &headers), None, Model::Unread));
    assert_eq!(ask("a.example.com", "/foo"), "0");
    assert_eq!(ask("a.example.com", "/bar"), "404");
    assert_eq!(ask("b.example.com", "/bar"), "1");
}

#[test]
fn a_host_of_another_listener_than_the_sni_is_misdirected() {
    let suffix = Hostname::Suffix(".wildcard.org".into());
    let named = |index, host: &str| {
        let mut found = any(index);
        found.hostname = Hostname::Exact(host.into());
        found
    };
    let bind = bind(
        Protocol::Https,
        vec![
            listener(
                "fourth",
                Hostname::Exact("fourth.wildcard.org".into()),
                vec![any(4)],
            ),
            listener(
                "second",
                Hostname::Exact("second-example.org".into()),
                vec![any(2)],
            ),
            listener("wildcard", suffix, vec![any(3)]),
            listener("all", Hostname::Any, vec![named(1, "example.org")]),
        ],
    );
    let headers = HeaderMap::new();
    for (sni, host, expected) in [
        (Some("example.org"), "example.org", "1"),
        (Some("example.org"), "second-example.org", "421"),
        (Some("example.org"), "unknown.org", "404"),
        (Some("second-example.org"), "second-example.org", "2"),
        (Some("second-example.org"), "unknown.org", "421"),
        (Some("third.wildcard.org"), "fifth.wildcard.org", "3"),
        (Some("third.wildcard.org"), "fourth.wildcard.org", "421"),
        (Some("fourth.wildcard.org"), "fifth.wildcard.org", "421"),
        (Some("unknown.org"), "example.org", "1"),
        (None, "example.org", "1"),
        (None, "second-example.org", "421"),
    ] {
        let outcome = bind.route(&get(host, "/", &headers), sni, Model::Unread);
        assert_eq!(show(outcome), expected, "sni {sni:?}, host {host}");
    }
}

#[test]
fn a_host_without_listener_is_not_found_even_when_the_sni_has_one() {
    let own = Hostname::Exact("a.example.com".into());
    let bind = bind(Protocol::Https, vec![listener("a", own, vec![any(0)])]);
    let headers = HeaderMap::new();
    let outcome = bind.route(
        &get("b.example.com", "/", &headers),
        Some("a.example.com"),
        Model::Unread,
    );
    assert_eq!(show(outcome), "404");
}
