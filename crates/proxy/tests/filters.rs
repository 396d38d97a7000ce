//! Filters, weights, model routing and time limits of rules.

mod support;

use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, StatusCode};
use suimon_routing::table::{
    Backend, Filter, HeaderEdit, HeaderMatch, Mirror, PathRewrite, Redirect, Rewrite, Rule,
    Timeouts, ValueMatch, WeightedBackend,
};
use support::{Fake, Gateway, get, post};

fn set(name: &'static str, value: &'static str) -> HeaderEdit {
    HeaderEdit {
        set: vec![(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )],
        ..HeaderEdit::default()
    }
}

fn with_filters(fake: &Fake, filters: Vec<Filter>) -> Gateway {
    let rule = support::rule_with(
        "/foo",
        support::service(&[fake]),
        filters,
        Timeouts::default(),
    );
    Gateway::start(support::snapshot(vec![rule], vec![]))
}

#[test]
fn headers_and_paths_are_rewritten() {
    let fake =
        Fake::new(|_| b"HTTP/1.1 200 OK\r\nx-r: endpoint\r\ncontent-length: 0\r\n\r\n".to_vec());
    let gateway = with_filters(
        &fake,
        vec![
            Filter::RequestHeaders(set("x-q", "rule")),
            Filter::ResponseHeaders(set("x-r", "rule")),
            Filter::Rewrite(Rewrite {
                hostname: Some(HeaderValue::from_static("new.test")),
                path: Some(PathRewrite::Prefix("/bar".into())),
            }),
        ],
    );
    let response = gateway.ask(get("/foo/x?a=1", "x-q: client\r\n"));
    assert_eq!(response.all("x-r"), ["rule"]);
    let request = fake.last();
    assert_eq!(request.start, "GET /bar/x?a=1 HTTP/1.1");
    assert_eq!(request.all("x-q"), ["rule"]);
    assert_eq!(request.all("host"), ["new.test"]);
}

#[test]
fn paths_are_matched_and_sent_in_one_form() {
    let fake = Fake::text("{}");
    let gateway = with_filters(&fake, vec![]);
    for (path, sent) in [
        ("/foo", Some("/foo")),
        ("/foo?a=1", Some("/foo?a=1")),
        ("//foo", Some("/foo")),
        ("/foo/%61", Some("/foo/a")),
        ("/x/../foo", Some("/foo")),
        ("/foobar", None),
        ("/foo/../admin", None),
        ("/foo/%2e%2e/admin", None),
        ("/foo;x", None),
    ] {
        let response = gateway.ask(get(path, ""));
        match sent {
            Some(sent) => {
                assert_eq!(response.status(), 200, "{path}");
                assert_eq!(fake.last().start, format!("GET {sent} HTTP/1.1"));
            }
            None => assert_eq!(response.status(), 404, "{path}"),
        }
    }
    assert_eq!(gateway.ask(get("/foo%2fadmin", "")).status(), 400);
    assert_eq!(gateway.ask(get("/foo/../../x", "")).status(), 400);
}

#[test]
fn redirects_answer_at_once() {
    let fake = Fake::text("{}");
    let gateway = with_filters(
        &fake,
        vec![Filter::Redirect(Redirect {
            scheme: Some("https".into()),
            hostname: None,
            path: Some(PathRewrite::Prefix("/new".into())),
            port: None,
            status: StatusCode::MOVED_PERMANENTLY,
        })],
    );
    let response = gateway.ask(get("/foo/a?b", ""));
    assert_eq!(response.status(), 301);
    assert_eq!(response.all("location"), ["https://gw.test/new/a?b"]);
    assert!(fake.seen().is_empty());
}

#[test]
fn mirrors_get_a_copy_and_never_delay() {
    let fake = Fake::text("{}");
    let mirror = Fake::raw(|mut wire, seen| {
        let request = wire.message().unwrap();
        seen.lock().unwrap().push(request);
        std::thread::sleep(Duration::from_secs(2));
    });
    let copy = |fraction| {
        Filter::Mirror(Mirror {
            backend: support::service(&[&mirror]),
            fraction,
        })
    };
    let gateway = with_filters(
        &fake,
        vec![
            Filter::RequestHeaders(set("x-q", "rule")),
            copy((1, 1)),
            copy((0, 100)),
        ],
    );
    let started = Instant::now();
    assert_eq!(gateway.ask(post("/foo", r#"{"a":1}"#)).status(), 200);
    assert!(started.elapsed() < Duration::from_secs(1));
    support::eventually("mirrored", || mirror.seen().len() == 1);
    let copied = mirror.last();
    assert_eq!(
        (copied.start.as_str(), copied.text().as_str()),
        ("POST /foo HTTP/1.1", r#"{"a":1}"#)
    );
    assert_eq!(copied.all("x-q"), ["rule"]);
    assert_eq!(fake.last().text(), r#"{"a":1}"#);
}

#[test]
fn weights_share_requests_and_backend_filters_follow_the_choice() {
    let fakes = [Fake::text("a"), Fake::text("b"), Fake::text("c")];
    let backends = [6, 0, 2]
        .into_iter()
        .zip(&fakes)
        .zip(["a", "b", "c"])
        .map(|((weight, fake), name)| WeightedBackend {
            weight,
            filters: vec![Filter::RequestHeaders(set("x-backend", name))],
            backend: support::service(&[fake]),
        })
        .chain([WeightedBackend {
            weight: 2,
            filters: vec![],
            backend: Backend::Invalid { why: "test".into() },
        }])
        .collect();
    let rule = support::matching(
        "",
        Rule {
            route: "d/r".into(),
            index: 0,
            filters: vec![],
            backends,
            timeouts: Timeouts::default(),
        },
    );
    let gateway = Gateway::start(support::snapshot(vec![rule], vec![]));
    let mut client = gateway.client();
    let mut failed = 0.0;
    for _ in 0..1000 {
        failed += f64::from(u8::from(client.ask(get("/", "")).status() == 500));
    }
    let counts = fakes.each_ref().map(|fake| fake.seen().len() as f64);
    assert_eq!(counts[1], 0.0);
    let chi = (counts[0] - 600.0).powi(2) / 600.0
        + (counts[2] - 200.0).powi(2) / 200.0
        + (failed - 200.0).powi(2) / 200.0;
    assert!(
        chi < 20.0,
        "{counts:?} {failed}: p < 0.0001 for 2 degrees of freedom"
    );
    for (fake, name) in fakes.iter().zip(["a", "b", "c"]) {
        assert!(fake.seen().iter().all(|r| r.all("x-backend") == [name]));
    }
}

fn by_model(model: &str, fake: &Fake) -> suimon_routing::table::RankedMatch {
    let mut found = support::rule(support::service(&[fake]));
    found.headers = vec![HeaderMatch {
        name: HeaderName::from_static("x-gateway-model-name"),
        value: ValueMatch::Exact(model.into()),
    }];
    found
}

#[test]
fn the_model_chooses_the_route() {
    let (a, b) = (Fake::text("a"), Fake::text("b"));
    let gateway = Gateway::start(support::snapshot(
        vec![by_model("a", &a), by_model("b", &b)],
        vec![],
    ));
    let body = r#"{"messages":[{"model":"a"}], "model":"b"}"#;
    assert_eq!(gateway.ask(post("/", body)).text(), "b");
    assert_eq!(b.last().all("x-gateway-model-name"), ["b"]);
    assert_eq!(b.last().text(), body);
    for (body, status) in [
        (r#"{"model":"c"}"#, 404),
        (r#"{"x":1}"#, 400),
        (r#"{"model":""}"#, 400),
        (r#"{"model":null}"#, 400),
        (r#"{"model":7}"#, 400),
        (r#"{"model":"a\nx-a: b"}"#, 400),
        (r#"{"MODEL":"a"}"#, 400),
        ("not json", 400),
    ] {
        let spoofed = support::post_with("/", body, "x-gateway-model-name: a\r\n");
        assert_eq!(gateway.ask(spoofed).status(), status, "{body}");
    }
    assert_eq!(
        gateway
            .ask(post("/", r#"{"model":"a","model":"b"}"#))
            .text(),
        "b",
        "the last counts"
    );
    assert_eq!(
        gateway
            .ask(get("/", "x-gateway-model-name: a\r\n"))
            .status(),
        404
    );
    assert!(a.seen().is_empty());
}

#[test]
fn time_limits_end_requests() {
    let silent = Fake::raw(|mut wire, _| {
        wire.message();
        wire.is_closed();
    });
    for timeouts in [
        Timeouts {
            request: Some(Duration::from_millis(150)),
            backend_request: None,
        },
        Timeouts {
            request: None,
            backend_request: Some(Duration::from_millis(150)),
        },
    ] {
        let rule = support::rule_with("", support::service(&[&silent]), vec![], timeouts);
        let gateway = Gateway::start(support::snapshot(vec![rule], vec![]));
        let started = Instant::now();
        let response = gateway.ask(get("/", ""));
        assert_eq!(
            (response.status(), response.error()["code"].as_str()),
            (504, Some("timeout"))
        );
        assert!(started.elapsed() > Duration::from_millis(140));
    }
}

#[test]
fn a_time_limit_cuts_a_stream() {
    let endless = Fake::raw(|mut wire, _| {
        wire.message();
        wire.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
        while wire.try_send("1\r\nx\r\n") {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let timeouts = Timeouts {
        request: Some(Duration::from_millis(150)),
        backend_request: None,
    };
    let rule = support::rule_with("", support::service(&[&endless]), vec![], timeouts);
    let gateway = Gateway::start(support::snapshot(vec![rule], vec![]));
    let mut client = gateway.client();
    client.send(get("/", ""));
    client.head().unwrap();
    while client.chunk().is_some_and(|chunk| chunk == b"x") {}
    assert!(client.is_closed());
    support::eventually("end", || gateway.ends().len() == 1);
    assert_eq!(
        (gateway.ends()[0].status, gateway.ends()[0].outcome),
        (200, "timeout")
    );
}
