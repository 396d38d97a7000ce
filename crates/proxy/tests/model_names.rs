//! The endpoint sees the target model, the client its own name.

mod support;

use support::{Fake, Fixed, Gateway, post, post_with};

fn rewriting(fake: &Fake, target: &'static str) -> Gateway {
    let endpoints = vec![support::endpoint(fake.address)];
    Gateway::picker(Fixed {
        endpoints,
        target: Some(target),
        ..Fixed::default()
    })
}

#[test]
fn requests_change_in_the_name_alone() {
    for target in ["a-much-longer-name-than-before", "x", "base"] {
        let fake = Fake::text("{}");
        let gateway = rewriting(&fake, target);
        let body = r#"{ "prompt" : "1.50 \u00e9", "model":"base" , "n":1.0 }"#;
        gateway.ask(post_with(
            "/v1/completions",
            body,
            "accept-encoding: gzip\r\n",
        ));
        let request = fake.last();
        let want = body.replace("\"base\"", &format!("\"{target}\""));
        assert_eq!(request.text(), want);
        assert_eq!(request.all("content-length"), [want.len().to_string()]);
        assert_eq!(
            request.header("accept-encoding"),
            None,
            "an answer that can be read"
        );
    }
}

#[test]
fn json_answers_get_the_name_back_with_the_right_length() {
    for chunked in [false, true] {
        let body = r#"{"id":"1","model":"llama3-canary","choices":[{"text":"\"model\":\"llama3-canary\""}]}"#;
        let fake = Fake::new(move |_| {
            if chunked {
                let (a, b) = body.split_at(25);
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                format!(
                    "{head}{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n",
                    a.len(),
                    b.len()
                )
                .into_bytes()
            } else {
                support::ok(body)
            }
        });
        let gateway = rewriting(&fake, "llama3-canary");
        let response = gateway.ask(post(
            "/v1/chat/completions",
            r#"{"model":"llama3","messages":[]}"#,
        ));
        let want = body.replacen("llama3-canary", "llama3", 1);
        assert_eq!(response.text(), want);
        assert_eq!(response.all("content-length"), [want.len().to_string()]);
        assert_eq!(response.header("transfer-encoding"), None);
    }
}

#[test]
fn every_event_gets_the_name_back() {
    let event = |model: &str, n: usize| {
        let text = r#"\"model\":\"llama3-canary\""#;
        format!(
            "data: {{\"id\":\"{n}\",\"model\":\"{model}\",\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n"
        )
    };
    let stream = |model: &str| {
        let events: String = (0..50).map(|n| event(model, n)).collect();
        format!("{events}data: [DONE]\n\n")
    };
    let sent = stream("llama3-canary");
    let fake = Fake::raw(move |mut wire, _| {
        wire.message();
        wire.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n");
        // Cut everywhere, inside the name too.
        for piece in sent.as_bytes().chunks(37) {
            wire.send(format!("{:x}\r\n", piece.len()));
            wire.send(piece);
            wire.send("\r\n");
        }
        wire.send("0\r\n\r\n");
    });
    let gateway = rewriting(&fake, "llama3-canary");
    let response = gateway.ask(post(
        "/v1/chat/completions",
        r#"{"model":"llama3","stream":true}"#,
    ));
    assert_eq!(response.text(), stream("llama3"));
}

#[test]
fn an_answer_that_breaks_off_is_no_answer() {
    let fake = Fake::raw(|mut wire, _| {
        wire.message();
        wire.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"model\":");
    });
    let gateway = rewriting(&fake, "target");
    let response = gateway.ask(post("/v1/completions", r#"{"model":"m"}"#));
    assert_eq!(
        (response.status(), response.error()["code"].as_str()),
        (502, Some("endpoint-reset"))
    );
}

#[test]
fn trailers_come_behind_what_was_held() {
    let fake = Fake::new(|_| {
        let event = "data: {\"model\":\"target\"}";
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n0\r\nx-sum: 1\r\n\r\n", event.len())
            .into_bytes()
    });
    let gateway = rewriting(&fake, "target");
    let response = gateway.ask(post_with(
        "/v1/chat/completions",
        r#"{"model":"m"}"#,
        "te: trailers\r\n",
    ));
    assert_eq!(response.text(), r#"data: {"model":"m"}"#);
    assert_eq!(response.trailers, [("x-sum".to_owned(), "1".to_owned())]);
}
