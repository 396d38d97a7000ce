//! InferenceModelRewrite: other model names on the way in, the client's own on the way out.

use std::collections::BTreeMap;

use suimon_testkit::{Answer, FakeServer, Gateway, Message, documents, post};

const MESSAGES: &str = "\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]";
const CHAT: &str = "/v1/chat/completions";

/// A pool with this server, and rewrites with these rules.
fn gateway(server: &FakeServer, rules: &str) -> Gateway {
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &[server.address], ""),
        &format!(
            "\n---\napiVersion: llm-d.ai/v1alpha2\nkind: InferenceModelRewrite\n\
             metadata: {{name: canary}}\nspec: {{poolRef: {{name: models}}, rules: [{rules}]}}\n"
        ),
    ];
    Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat())
}

fn rule(model: &str, target: &str) -> String {
    format!("{{matches: [{{model: {{value: {model}}}}}], targets: [{{modelRewrite: {target}}}]}}")
}

/// Answers with the model that it was asked for, as engines do.
fn echo(request: &Message) -> Answer {
    let model = request.json()["model"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    Answer::json(&format!(
        "{{\"id\": \"1\", \"model\": \"{model}\", \"choices\": [{{\"message\": {{\"content\": \
         \"\\\"model\\\":\\\"{model}\\\" — é\"}}}}], \"usage\": {{\"prompt_tokens\": 3}}}}"
    ))
}

#[test]
fn only_the_name_changes_whatever_its_length() {
    let server = FakeServer::start(echo);
    for target in ["much-longer-than-llama3", "x", "llama4"] {
        let gateway = gateway(&server, &rule("llama3", target));
        // Odd spaces, escapes and numbers would not survive being written anew.
        let around = |model: &str| {
            format!(
                "{{ \"messages\" : [ {{\"role\":\"user\",\"content\":\"\\u00e9 \\\"model\\\":\
                 \\\"llama3\\\"\"}} ],\n\t\"n\":1.0e0 , \"model\" :\"{model}\", \"n\": 1 }}"
            )
        };
        let whole = post(CHAT, &around("llama3"), "");
        let (head, body) = whole.split_once("\r\n\r\n").unwrap();
        let (first, rest) = body.split_at(5);
        let chunked = format!(
            "{}\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            head.split("\r\n")
                .filter(|line| !line.starts_with("content-length"))
                .collect::<Vec<_>>()
                .join("\r\n"),
            first,
            rest.len(),
            rest
        );
        for request in [whole.clone(), chunked] {
            let response = gateway.ask(request);
            assert_eq!(response.status(), 200, "{}", response.text());
            let received = server.last();
            assert_eq!(received.text(), around(target));
            let length = received
                .header("content-length")
                .map(|length| length.parse().unwrap());
            assert!(length.is_none_or(|length: usize| length == received.body.len()));
            // The client's name in `model`, the text untouched, the length true.
            let want = format!(
                "{{\"id\": \"1\", \"model\": \"llama3\", \"choices\": [{{\"message\": {{\"content\": \
                 \"\\\"model\\\":\\\"{target}\\\" — é\"}}}}], \"usage\": {{\"prompt_tokens\": 3}}}}"
            );
            assert_eq!(response.text(), want);
            assert_eq!(response.need("content-length"), want.len().to_string());
            let decision = gateway.decision(&response.need("x-request-id"));
            assert_eq!(decision["model"], "llama3");
            assert_eq!(decision["targetModel"], target);
        }
    }
}

#[test]
fn names_are_restored_in_each_event_of_a_stream() {
    let event = |number: usize, model: &str| {
        format!(
            "data: {{\"id\":\"c\",\"model\":\"{model}\",\"choices\":[{{\"delta\":{{\"content\":\
             \"{number} \\\"model\\\":\\\"llama3-canary\\\"\"}}}}]}}\n\n"
        )
    };
    let stream = move |model: &str| {
        let events: String = (0..50).map(|number| event(number, model)).collect();
        events + "data: [DONE]\n\n"
    };
    let server = FakeServer::start(move |_| {
        // Borders of chunks fall inside names, each at another place.
        let said = stream("llama3-canary");
        let pieces = said.as_bytes().chunks(11);
        pieces.fold(Answer::event_stream(), Answer::chunk).chunk("")
    });
    let gateway = gateway(&server, &rule("llama3", "llama3-canary"));
    let response = gateway.ask(post(CHAT, "{\"model\":\"llama3\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true}", ""));
    assert_eq!(response.status(), 200);
    assert_eq!(response.text(), stream("llama3"));
    assert_eq!(response.header("content-length"), None);
}

#[test]
fn an_event_is_not_held_back() {
    let event = "data: {\"model\":\"llama3-canary\",\"choices\":[]}\n\n";
    let server = FakeServer::start(move |_| Answer::event_stream().chunk(event).stall());
    let gateway = gateway(&server, &rule("llama3", "llama3-canary"));
    let mut client = gateway.client();
    client.send(post(CHAT, "{\"model\":\"llama3\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true}", ""));
    assert_eq!(client.head().unwrap().status(), 200);
    let first = event.replace("llama3-canary", "llama3");
    let mut got = Vec::new();
    while got.len() < first.len() {
        got.extend(
            client
                .chunk()
                .expect("the event, while the server is silent"),
        );
    }
    assert_eq!(String::from_utf8_lossy(&got), first);
}

#[test]
fn targets_get_their_shares() {
    let server = FakeServer::start(echo);
    let targets =
        "{targets: [{modelRewrite: stable, weight: 90}, {modelRewrite: canary, weight: 10}]}";
    let gateway = gateway(&server, targets);
    let mut client = gateway.client();
    for _ in 0..1000 {
        let response = client.ask(post(
            CHAT,
            "{\"model\":\"llama3\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
            "",
        ));
        assert_eq!(response.json()["model"], "llama3");
    }
    let mut counts: BTreeMap<String, f64> = BTreeMap::new();
    for request in server.requests() {
        *counts
            .entry(request.json()["model"].to_string())
            .or_default() += 1.0;
    }
    // Chi-square with one degree of freedom: 15.1 has a chance of 1 in 10,000.
    let [stable, canary] = ["\"stable\"", "\"canary\""].map(|name| counts[name]);
    let chi = (stable - 900.0).powi(2) / 900.0 + (canary - 100.0).powi(2) / 100.0;
    assert!(chi < 15.1, "{counts:?}");
    assert!((stable + canary - 1000.0).abs() < 0.5, "{counts:?}");
}

#[test]
fn odd_models_are_refused_or_routed_and_sent_alike() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let exact = gateway(&server, &rule("a", "b"));
    let every = gateway(&server, "{targets: [{modelRewrite: b}]}");
    let ask = |gateway: &Gateway, model: &str| {
        let comma = if model.is_empty() { "" } else { "," };
        let body = format!("{{{model}{comma}{MESSAGES}}}");
        let before = server.requests().len();
        let response = gateway.ask(post(CHAT, &body, ""));
        let sent = server.requests().get(before).map(Message::text);
        assert_eq!(
            sent.is_some(),
            response.status() == 200,
            "{model}: {}",
            response.text()
        );
        if sent.is_none() {
            assert_eq!(
                response.json()["error"]["type"],
                "invalid_request_error",
                "{model}"
            );
        }
        (response.status(), sent.unwrap_or_default())
    };
    // A rule for all models supplies a missing one, where the engine would not know what is meant.
    for missing in ["", "\"model\":null", "\"model\":\"\""] {
        let (status, sent) = ask(&every, missing);
        assert_eq!(status, 200, "{missing}");
        let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent["model"], "b", "{missing}");
    }
    for wrong in ["\"model\":7", "\"model\":[\"a\"]", "\"model\":{\"a\":1}"] {
        assert_eq!(ask(&every, wrong).0, 400, "{wrong}");
        assert_eq!(ask(&exact, wrong).0, 400, "{wrong}");
    }
    // Other capitals are another field.
    let (status, sent) = ask(&every, "\"MODEL\":\"a\"");
    assert_eq!(status, 200);
    let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    assert_eq!((&sent["model"], &sent["MODEL"]), (&"b".into(), &"a".into()));
    // Of two the engine takes the last: the rewrite must not leave it another one.
    for (twice, renamed) in [
        ("\"model\":\"x\",\"model\":\"a\"", true),
        ("\"model\":\"a\",\"model\":\"x\"", false),
    ] {
        let (status, sent) = ask(&exact, twice);
        if status == 200 {
            let taken: serde_json::Value = serde_json::from_str(&sent).unwrap();
            assert_eq!(
                taken["model"],
                if renamed { "b" } else { "x" },
                "{twice}: {sent}"
            );
        } else {
            assert_eq!(status, 400, "{twice}");
        }
    }
    for name in ["a\\nx-evil: 1", "é", &"m".repeat(300)] {
        let (status, sent) = ask(&exact, &format!("\"model\":\"{name}\""));
        assert_eq!(status, 200, "{name}");
        assert!(sent.contains(name), "{sent}");
        assert_eq!(server.last().header("x-evil"), None);
    }
}
