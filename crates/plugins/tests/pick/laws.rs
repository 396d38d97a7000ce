//! What every scorer keeps to, whatever the figures.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use suimon_picker::Metrics;
use suimon_picker::metrics::Lora;

use crate::pool::{Ask, Pool, alone};

/// What is known of an endpoint.
#[derive(Debug, Clone, Default)]
struct State {
    /// `None`: never scraped.
    metrics: Option<Metrics>,
    /// Whether the first half of the prompt went there before.
    holds: bool,
}

fn figure() -> impl Strategy<Value = u32> {
    prop_oneof![0..4_u32, any::<u32>(), Just(u32::MAX)]
}

fn usage() -> impl Strategy<Value = f32> {
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0, 7.0];
    prop_oneof![0.0..=1.0_f32, select(wild.to_vec())]
}

fn lora() -> impl Strategy<Value = Lora> {
    let names = || proptest::collection::vec(select(vec!["m", "x", "y"]), 0..3);
    (0..4_u32, names(), names()).prop_map(|(max, active, waiting)| Lora {
        max,
        active: active.into_iter().map(Box::from).collect(),
        waiting: waiting.into_iter().map(Box::from).collect(),
    })
}

fn metrics() -> impl Strategy<Value = Metrics> {
    let all = (figure(), figure(), usage(), lora());
    all.prop_map(|(waiting, running, kv_usage, lora)| Metrics {
        waiting,
        running,
        kv_usage,
        lora: Arc::new(lora),
        ..Metrics::default()
    })
}

fn state() -> impl Strategy<Value = State> {
    (proptest::option::of(metrics()), any::<bool>())
        .prop_map(|(metrics, holds)| State { metrics, holds })
}

/// States, and endpoints that are in them, by index, in two orders.
fn pools() -> impl Strategy<Value = (Vec<State>, Vec<usize>, Vec<usize>)> {
    (proptest::collection::vec(state(), 1..5), 0..4_usize).prop_flat_map(|(mut states, more)| {
        let drawn = states.len();
        for holds in [false, true] {
            let metrics = Some(Metrics::default());
            states.push(State { metrics, holds });
        }
        let again = (0..more).map(|number| number % drawn);
        let endpoints: Vec<usize> = (0..states.len()).chain(again).collect();
        let shuffled = Just(endpoints.clone()).prop_shuffle();
        (Just(states), Just(endpoints), shuffled)
    })
}

/// Scores of endpoints in these states.
fn scores(kind: &str, states: &[State], endpoints: &[usize]) -> Vec<f32> {
    let pool = Pool::new(&alone(kind), endpoints.len());
    let prompt = "x".repeat(1024);
    for (index, state) in endpoints.iter().map(|&state| &states[state]).enumerate() {
        if let Some(metrics) = &state.metrics {
            pool.scrape(index, metrics.clone());
        }
        if state.holds {
            pool.goes_to(&Ask::prompt(&prompt).only(&[index]));
        }
    }
    pool.scores(&Ask::prompt(&prompt.repeat(2)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn scorers_keep_their_laws((states, endpoints, shuffled) in pools()) {
        let scorers = suimon_plugins::CATALOGUE.iter().map(|one| one.name);
        for kind in scorers.filter(|name| name.ends_with("-scorer")) {
            let found = scores(kind, &states, &endpoints);
            prop_assert_eq!(found.len(), endpoints.len());
            for score in &found {
                prop_assert!((0.0..=1.0).contains(score), "{} scores {}", kind, score);
            }
            // The first endpoints are in the states, one by one.
            let by_state = &found[..states.len()];
            for (state, score) in endpoints.iter().zip(&found) {
                prop_assert_eq!(by_state[*state], *score, "{}: equal endpoints differ", kind);
            }
            for (state, score) in shuffled.iter().zip(scores(kind, &states, &shuffled)) {
                prop_assert_eq!(by_state[*state], score, "{}: the order matters", kind);
            }
            let (cold, warm) = (by_state[states.len() - 2], by_state[states.len() - 1]);
            for (state, score) in states.iter().zip(by_state) {
                let idle = if state.holds { warm } else { cold };
                prop_assert!(
                    state.metrics.is_some() || *score <= idle,
                    "{}: unknown {} above idle {}", kind, score, idle
                );
            }
        }
    }
}

#[test]
fn the_laws_are_tried_on_every_scorer() {
    let names = suimon_plugins::CATALOGUE.iter().map(|one| one.name);
    let scorers = names.filter(|name| name.ends_with("-scorer"));
    assert!(scorers.count() >= 5);
}

#[test]
fn equal_figures_score_alike_whatever_they_are() {
    for waiting in [0, 7, u32::MAX] {
        for count in [1, 2, 5] {
            let metrics = Metrics {
                waiting,
                running: waiting,
                ..Metrics::default()
            };
            let state = State {
                metrics: Some(metrics),
                holds: false,
            };
            for kind in ["queue-scorer", "running-requests-size-scorer"] {
                let scores = scores(kind, std::slice::from_ref(&state), &vec![0; count]);
                assert_eq!(scores, vec![1.0; count], "{kind} {waiting}");
            }
        }
    }
}
