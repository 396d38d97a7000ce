//! What the gateway refuses, and the form of its errors.

mod support;

use suimon_picker::PickError;
use suimon_routing::table::{Backend, Filter, Timeouts};
use support::{Fake, Fixed, Gateway, get, post, post_with};

fn small() -> (Fake, Gateway) {
    let fake = Fake::text("{}");
    let picker = Fixed {
        endpoints: vec![support::endpoint(fake.address)],
        ..Fixed::default()
    };
    let mut snapshot = support::snapshot(
        vec![support::rule(Backend::Pool(0))],
        vec![support::pool(picker)],
    );
    snapshot.limits.body_bytes = 1000;
    (fake, Gateway::start(snapshot))
}

#[test]
fn errors_have_the_openai_form_and_the_request_id() {
    let (fake, gateway) = small();
    let body = format!(r#"{{"model":"{}"}}"#, "m".repeat(2000));
    let response = gateway.ask(post_with("/v1/completions", &body, "x-request-id: r-1\r\n"));
    assert_eq!(response.status(), 413);
    assert_eq!(response.all("content-type"), ["application/json"]);
    assert_eq!(response.all("x-request-id"), ["r-1"]);
    assert_eq!(response.all("connection"), ["close"]);
    let error = response.error();
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["code"], "body-too-large");
    assert_eq!(error["request_id"], "r-1");
    assert!(
        error["param"].is_null()
            && error["message"]
                .as_str()
                .is_some_and(|m| m.contains("1000"))
    );
    assert!(fake.seen().is_empty());
}

#[test]
fn chunked_bodies_are_counted() {
    let (fake, gateway) = small();
    let chunk = format!("1f4\r\n{}\r\n", "x".repeat(500));
    let head = "POST /v1/completions HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut client = gateway.client();
    client.send(format!("{head}{chunk}{chunk}{chunk}0\r\n\r\n"));
    assert_eq!(client.message().unwrap().status(), 413);
    assert!(fake.seen().is_empty());
}

#[test]
fn what_is_not_json_passes_when_the_picker_takes_it() {
    let (fake, gateway) = small();
    let form = "POST /v1/audio HTTP/1.1\r\nhost: a\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 5\r\n\r\n--x--";
    assert_eq!(gateway.ask(form).status(), 200);
    assert_eq!(fake.last().text(), "--x--");
}

#[test]
fn huge_heads_are_refused() {
    let (_, gateway) = small();
    let many: String = (0..150).map(|n| format!("x-{n}: 1\r\n")).collect();
    assert_eq!(gateway.ask(get("/", &many)).status(), 431);
    let long = format!("x-long: {}\r\n", "a".repeat(200 << 10));
    let mut client = gateway.client();
    client.try_send(get("/", &long));
    assert_eq!(client.message().unwrap().status(), 431);
}

#[test]
fn pick_errors_map_to_their_reasons() {
    for (error, status, code, dropped) in [
        (
            (|| PickError::Saturated) as fn() -> PickError,
            429,
            "saturated",
            Some("rejected-saturated"),
        ),
        (
            || PickError::NoEndpoints,
            503,
            "no-endpoints",
            Some("rejected-no-endpoints"),
        ),
        (|| PickError::ModelMissing, 400, "model-missing", None),
        (
            || PickError::Remote("down".into()),
            503,
            "picker-failed",
            None,
        ),
    ] {
        let gateway = Gateway::picker(Fixed {
            error: Some(error),
            ..Fixed::default()
        });
        let response = gateway.ask(post("/v1/completions", r#"{"model":"m"}"#));
        assert_eq!(
            (response.status(), response.error()["code"].as_str()),
            (status, Some(code))
        );
        assert_eq!(response.header("x-llm-d-request-dropped-reason"), dropped);
        assert_eq!(
            response.header("retry-after").is_some(),
            status == 429 || status == 503
        );
    }
}

#[test]
fn a_failed_picker_opens_the_pool_that_wants_it() {
    let fake = Fake::text("{}");
    let mut pool = support::pool(Fixed {
        endpoints: vec![support::endpoint(fake.address)],
        error: Some(|| PickError::Remote("down".into())),
        ..Fixed::default()
    });
    pool.fail_open = true;
    let gateway = Gateway::start(support::snapshot(
        vec![support::rule(Backend::Pool(0))],
        vec![pool],
    ));
    let body = r#"{"model":"m"}"#;
    let spoof = "x-gateway-destination-endpoint: 169.254.169.254:80\r\n";
    assert_eq!(
        gateway
            .ask(post_with("/v1/completions", body, spoof))
            .status(),
        200
    );
    let seen = fake.last();
    assert_eq!(seen.text(), body);
    assert_eq!(
        seen.all("x-gateway-destination-endpoint"),
        [fake.address.to_string()]
    );
}

#[test]
fn routes_that_cannot_be_served() {
    let why = || std::sync::Arc::from("test");
    let table = vec![
        support::rule_with(
            "/invalid",
            Backend::Invalid { why: why() },
            vec![],
            Timeouts::default(),
        ),
        support::rule_with(
            "/filter",
            Backend::Invalid { why: why() },
            vec![Filter::Invalid { why: why() }],
            Timeouts::default(),
        ),
        support::rule_with("/empty", support::service(&[]), vec![], Timeouts::default()),
    ];
    let gateway = Gateway::start(support::snapshot(table, vec![]));
    for (path, status, code) in [
        ("/invalid", 500, "backend-invalid"),
        ("/filter", 500, "filter-invalid"),
        ("/empty", 503, "no-endpoints"),
        ("/other", 404, "no-route"),
    ] {
        let response = gateway.ask(get(path, ""));
        assert_eq!(
            (response.status(), response.error()["code"].as_str()),
            (status, Some(code))
        );
    }
    assert_eq!(gateway.ends().len(), 4);
}

#[test]
fn unknown_expectations_and_honoured_ones() {
    let (fake, gateway) = small();
    assert_eq!(gateway.ask(get("/", "expect: cookies\r\n")).status(), 417);
    let mut client = gateway.client();
    client.send("POST /v1/completions HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n");
    assert_eq!(client.head().unwrap().status(), 100);
    client.send("{}");
    assert_eq!(client.message().unwrap().status(), 200);
    assert_eq!(fake.last().header("expect"), None);
    let mut client = gateway.client();
    client.send("POST /v1/completions HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2000\r\n\r\n");
    assert_eq!(
        client.message().unwrap().status(),
        413,
        "no 100 for a body that is refused"
    );
}

#[test]
fn no_memory_left() {
    let (_, gateway) = small();
    drop(gateway);
    let fake = Fake::text("{}");
    let picker = Fixed {
        endpoints: vec![support::endpoint(fake.address)],
        ..Fixed::default()
    };
    let mut snapshot = support::snapshot(
        vec![support::rule(Backend::Pool(0))],
        vec![support::pool(picker)],
    );
    snapshot.limits.in_flight_bytes = 20;
    let gateway = Gateway::start(snapshot);
    for _ in 0..3 {
        assert_eq!(gateway.ask(post("/", r#"{"model":"m"}"#)).status(), 200);
        let response = gateway.ask(post("/", r#"{"model":"m","prompt":"xxxxxxxx"}"#));
        assert_eq!(
            (response.status(), response.error()["code"].as_str()),
            (503, Some("gateway-overloaded"))
        );
    }
}

#[test]
fn a_client_that_sends_everything_first_still_reads_the_refusal() {
    let (_, gateway) = small();
    let body = vec![b'x'; 20 << 20];
    for _ in 0..5 {
        let mut client = gateway.client();
        let head = format!(
            "POST /v1/completions HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        assert!(
            client.try_send(head) && client.try_send(&body),
            "the connection was reset"
        );
        assert_eq!(client.message().unwrap().status(), 413);
        assert!(client.is_closed());
    }
}
