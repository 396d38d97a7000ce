//! Where conversations, long queues and adapters lead.

use std::sync::Arc;

use suimon_picker::Metrics;
use suimon_picker::metrics::Lora;

use crate::pool::{Ask, Pool, STANDARD, alone};

fn turn(name: &str) -> String {
    format!("{name} says something. ").repeat(40)
}

fn metrics(waiting: u32, kv_usage: f32) -> Metrics {
    Metrics {
        waiting,
        kv_usage,
        ..Metrics::default()
    }
}

#[test]
fn the_turns_of_a_conversation_go_where_the_first_went() {
    let pool = Pool::idle(STANDARD, 8);
    for conversation in 0..20 {
        let mut turns = vec![turn(&format!("user {conversation}"))];
        let first = pool.goes_to(&Ask::chat(&turns));
        for number in 0..5 {
            turns.push(turn(&format!("answer {number}")));
            turns.push(turn(&format!("question {number}")));
            assert_eq!(pool.goes_to(&Ask::chat(&turns)), first, "turn {number}");
        }
    }
}

#[test]
fn first_turns_are_spread() {
    let pool = Pool::idle(STANDARD, 4);
    let mut seen = [0; 4];
    for conversation in 0..80 {
        seen[pool.goes_to(&Ask::chat(&[turn(&format!("user {conversation}"))]))] += 1;
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn a_busy_endpoint_is_avoided() {
    let pool = Pool::idle(STANDARD, 3);
    pool.scrape(1, metrics(10, 0.9));
    for conversation in 0..50 {
        let ask = Ask::chat(&[turn(&format!("user {conversation}"))]);
        assert_ne!(pool.goes_to(&ask), 1);
    }
}

#[test]
fn a_queue_alone_does_not_part_a_conversation_but_with_a_full_cache_it_does() {
    let pool = Pool::idle(STANDARD, 3);
    let ask = Ask::chat(&[turn("user")]);
    let first = pool.goes_to(&ask);
    // Prefix 3 + queue 0 + cache 2 against prefix 0 + queue 2 + cache 2.
    pool.scrape(first, metrics(10, 0.0));
    assert_eq!(pool.goes_to(&ask), first);
    // Prefix 3 + queue 0 + cache 0.2 against 4.
    pool.scrape(first, metrics(10, 0.9));
    assert_ne!(pool.goes_to(&ask), first);
}

#[test]
fn adapters_go_where_they_are_loaded_else_where_they_fit() {
    let pool = Pool::idle(&alone("lora-affinity-scorer"), 4);
    let names = |names: &[&str]| names.iter().map(|&name| Box::from(name)).collect();
    let lora = |max, active: &[&str], waiting: &[&str]| Metrics {
        lora: Arc::new(Lora {
            max,
            active: names(active),
            waiting: names(waiting),
        }),
        ..Metrics::default()
    };
    pool.scrape(0, lora(2, &["x", "y"], &[]));
    pool.scrape(1, lora(2, &["x"], &["m"]));
    pool.scrape(2, lora(2, &["x"], &[]));
    pool.scrape(3, lora(1, &["m"], &[]));
    let ask = Ask::prompt("hello");
    assert_eq!(pool.scores(&ask), [0.0, 0.6, 0.8, 1.0]);
    assert_eq!(pool.goes_to(&ask), 3);
    assert_eq!(pool.goes_to(&ask.clone().only(&[0, 1, 2])), 2);
    assert_eq!(pool.goes_to(&ask.only(&[0, 1])), 1);
}

#[test]
fn an_adapter_is_looked_for_by_the_name_that_the_endpoint_is_asked_for() {
    let pool = Pool::idle(&alone("lora-affinity-scorer"), 1);
    pool.rewrites(&[(Some("m"), &[("tuned", 1)])]);
    pool.scrape(
        0,
        Metrics {
            lora: Arc::new(Lora {
                max: 1,
                active: vec![Box::from("tuned")],
                waiting: Vec::new(),
            }),
            ..Metrics::default()
        },
    );
    assert_eq!(pool.scores(&Ask::prompt("hello")), [1.0]);
}
