//! Later turns of a conversation go where its prefix is.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use suimon_testkit::{Gateway, Message, Sims, chat_body, documents, post};

const CONVERSATIONS: usize = 6;
const TURNS: usize = 4;

/// Some hundred tokens that no other conversation has.
fn opening(conversation: usize) -> String {
    (0..200)
        .map(|word| format!("topic{conversation} word{word} "))
        .collect()
}

fn turn(gateway: &Gateway, messages: &[String]) -> Message {
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let answer = gateway.ask(post(
        "/v1/chat/completions",
        &chat_body("llama", &messages),
        "",
    ));
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer
}

/// The prefix scores of a decision by endpoint, and the endpoint that was chosen.
fn prefix_scores(decision: &serde_json::Value) -> (Vec<f64>, usize) {
    let profile = &decision["profiles"][0];
    let scorers = profile["scorers"].as_array().unwrap();
    let prefix = scorers
        .iter()
        .find(|scorer| scorer["name"] == "prefix-cache-scorer")
        .unwrap();
    let scores = prefix["scores"].as_array().unwrap();
    let scores = scores.iter().map(|score| score.as_f64().unwrap()).collect();
    (
        scores,
        usize::try_from(profile["chosen"][0].as_u64().unwrap()).unwrap(),
    )
}

#[test]
fn later_turns_go_to_the_replica_that_holds_the_prefix() {
    let sims = Sims::start(3);
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    let mut talks: Vec<Vec<String>> = (0..CONVERSATIONS).map(|n| vec![opening(n)]).collect();
    let mut homes: Vec<String> = Vec::new();
    for number in 0..TURNS {
        for (conversation, talk) in talks.iter_mut().enumerate() {
            let answer = turn(&gateway, talk);
            let pod = answer.need("x-inference-pod");
            let decision = gateway.decision(&answer.need("x-request-id"));
            let (scores, chosen) = prefix_scores(&decision);
            let body = answer.json();
            let cached = &body["usage"]["prompt_tokens_details"]["cached_tokens"];
            if number == 0 {
                homes.push(pod);
            } else {
                assert_eq!(pod, homes[conversation], "turn {number} of {conversation}");
                assert!(scores[chosen] > 0.5, "{scores:?}, chosen {chosen}");
                let others = (0..3).filter(|other| *other != chosen);
                assert!(
                    others.into_iter().all(|other| scores[other] == 0.0),
                    "{scores:?}"
                );
                assert!(cached.as_u64().unwrap() > 0, "{body}");
                assert_eq!(decision["outcome"]["cachedTokens"], *cached);
            }
            let said = body["choices"][0]["message"]["content"].as_str().unwrap();
            talk.extend([
                said.to_owned(),
                format!("and question {number} of {conversation}?"),
            ]);
        }
    }
    for (number, replica) in sims.iter().enumerate() {
        let name = format!("sim-{number}");
        let at_home = homes.iter().filter(|home| **home == name).count();
        assert_eq!(
            replica.received().len(),
            at_home * TURNS,
            "{name}, {homes:?}"
        );
    }
}

#[test]
fn a_streamed_turn_counts_as_well() {
    let sims = Sims::start(3);
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        &documents::pool("models", &sims.addresses(), ""),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    let streamed = |messages: &[&str]| {
        let body = chat_body("llama", messages).replacen(
            '{',
            "{\"stream\":true,\"stream_options\":{\"include_usage\":true},",
            1,
        );
        let answer = gateway.ask(post("/v1/chat/completions", &body, ""));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let events = answer.events();
        assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
        let usage: serde_json::Value = serde_json::from_str(&events[events.len() - 2]).unwrap();
        let cached = usage["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
        let decision = gateway.decision(&answer.need("x-request-id"));
        assert_eq!(decision["outcome"]["cachedTokens"].as_u64(), cached);
        (answer.need("x-inference-pod"), cached)
    };
    let opening = opening(0);
    let (home, cached) = streamed(&[&opening]);
    assert!(cached.unwrap_or_default() == 0);
    for turn in 0..3 {
        let (pod, cached) = streamed(&[&opening, "an answer", &format!("question {turn}")]);
        assert_eq!(pod, home);
        assert!(cached > Some(0));
    }
}
