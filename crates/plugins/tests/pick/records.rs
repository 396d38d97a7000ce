//! What a decision holds and what is written down of it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use suimon_picker::Metrics;

use crate::pool::{Ask, Pool, STANDARD, alone};

fn queue(waiting: u32) -> Metrics {
    Metrics {
        waiting,
        ..Metrics::default()
    }
}

/// Endpoints of a decision, by number.
fn order(pool: &Pool, ask: &Ask) -> (Vec<usize>, usize) {
    let decision = pool.pick(ask).unwrap();
    let members = pool.picker.pool();
    let number = |id: &Arc<str>| members.endpoints.iter().position(|one| one.id() == id);
    let endpoints = decision.endpoints.iter();
    let numbers = endpoints.map(|one| number(one.id()).unwrap()).collect();
    (numbers, decision.chosen)
}

#[test]
fn the_same_seed_and_requests_give_the_same_decisions() {
    let picker = |kind: &str| format!("plugins: [{{type: queue-scorer}}, {{type: {kind}}}]");
    let kinds = [
        "max-score-picker",
        "random-picker",
        "weighted-random-picker",
    ];
    for yaml in kinds.map(picker) {
        let decisions = |seed| {
            let pool = Pool::seeded(&yaml, 8, seed);
            (0..8).for_each(|index| pool.scrape(index, queue(1)));
            (0..64)
                .map(|number| pool.goes_to(&Ask::prompt(&number.to_string())))
                .collect::<Vec<_>>()
        };
        assert_eq!(decisions(1), decisions(1), "{yaml}");
        assert_ne!(decisions(1), decisions(2), "{yaml}");
    }
}

#[test]
fn fallbacks_follow_the_choice_by_their_totals() {
    let waiting = [3, 0, 1, 2, 9, 8, 20, 21, 22, 23];
    let rows: [(usize, usize, &[usize]); 5] = [
        (0, 1, &[1, 2, 3, 0, 5, 4, 6, 7]),
        (1, 1, &[1, 2, 3, 0, 5, 4, 6, 7]),
        (2, 2, &[1, 2, 3, 0, 5, 4, 6, 7, 8]),
        (6, 6, &[1, 2, 3, 0, 5, 4, 6, 7, 8, 9]),
        (99, 10, &[1, 2, 3, 0, 5, 4, 6, 7, 8, 9]),
    ];
    for (most, chosen, expected) in rows {
        let yaml = format!(
            "plugins: [{{type: queue-scorer}}, {{type: max-score-picker, parameters: \
             {{maxNumOfEndpoints: {most}}}}}]"
        );
        let pool = Pool::new(&yaml, waiting.len());
        let metrics = waiting.into_iter().map(queue).enumerate();
        metrics.for_each(|(index, metrics)| pool.scrape(index, metrics));
        let got = order(&pool, &Ask::prompt("hello"));
        assert_eq!(got, (expected.to_vec(), chosen), "{most}");
    }
}

#[test]
fn only_the_first_endpoint_is_counted_in_flight() {
    let pool = Pool::idle(&alone("queue-scorer"), 3);
    let decision = pool.pick(&Ask::prompt("hello")).unwrap();
    assert_eq!(decision.endpoints.len(), 3);
    let counted = decision.in_flight.endpoint().unwrap();
    assert!(Arc::ptr_eq(counted, &decision.endpoints[0]));
    let in_flight = decision
        .endpoints
        .iter()
        .map(|one| one.in_flight_requests());
    assert_eq!(in_flight.collect::<Vec<_>>(), [1, 0, 0]);
}

#[test]
fn a_record_says_who_scored_what_and_why_it_went_there() {
    let pool = Pool::new(STANDARD, 3);
    pool.objectives(&[("chat", 5)]);
    pool.scrape(0, queue(4));
    pool.scrape(
        1,
        Metrics {
            running: 3,
            kv_usage: 0.25,
            ..Metrics::default()
        },
    );
    pool.wait(Duration::from_millis(20));
    let busy = pool.pick(&Ask::prompt("other").only(&[0])).unwrap();
    let ask = Ask::prompt("hello").header("x-llm-d-inference-objective", "chat");
    let decision = pool.pick(&ask).unwrap();
    let record = decision.record.clone().unwrap();
    assert!(Arc::ptr_eq(&pool.recorder.newest(9)[0], &record));
    assert_eq!(&*record.request_id, "request-1");
    assert_eq!(&*record.route, "test/route");
    assert_eq!(&*record.pool, "test/pool");
    assert_eq!((&*record.model, &*record.target_model), ("m", "m"));
    assert_eq!(record.priority, 5);
    assert_eq!(
        record.time,
        SystemTime::UNIX_EPOCH + Duration::from_millis(20)
    );
    assert!(record.outcome.get().is_none());

    let candidates = record.candidates.iter();
    let shown: Vec<_> = candidates
        .map(|one| (&*one.endpoint, one.waiting, one.running, one.in_flight))
        .collect();
    assert_eq!(
        shown,
        [
            ("test/000", Some(5), Some(1), 1),
            ("test/001", Some(0), Some(3), 0),
            ("test/002", None, None, 0),
        ]
    );
    assert_eq!(&*record.candidates[1].address, "10.0.0.1:8000");
    let usage = record.candidates.iter().map(|one| one.kv_usage);
    assert!(usage.eq([Some(0.0), Some(0.25), None]));

    let [profile] = &*record.profiles else {
        panic!("{:?}", record.profiles)
    };
    assert_eq!(
        (&*profile.name, &*profile.picker),
        ("default", "max-score-picker")
    );
    assert_eq!(
        (&*profile.kept, &*profile.chosen),
        (&[0, 1, 2][..], &[1][..])
    );
    let scorers: Vec<_> = profile
        .scorers
        .iter()
        .map(|one| (&*one.name, one.weight, &*one.scores))
        .collect();
    assert_eq!(
        scorers,
        [
            ("queue-scorer", 2.0, &[0.0, 1.0, 0.0][..]),
            ("kv-cache-utilization-scorer", 2.0, &[1.0, 0.75, 0.0][..]),
            ("prefix-cache-scorer", 3.0, &[0.0, 0.0, 0.0][..]),
        ]
    );
    assert_eq!(profile.totals, [2.0, 3.5, 0.0]);
    drop((busy, decision));
}

#[test]
fn a_record_counts_places_among_the_candidates() {
    let yaml = "
plugins: [{type: utilization-detector}, {type: queue-scorer}]
schedulingProfiles:
- name: default
  plugins: [{pluginRef: utilization-detector}, {pluginRef: queue-scorer}]
";
    let pool = Pool::idle(yaml, 5);
    pool.scrape(1, queue(5));
    let decision = pool.pick(&Ask::prompt("hello").only(&[1, 3])).unwrap();
    let record = decision.record.unwrap();
    let ids: Vec<&str> = record.candidates.iter().map(|one| &*one.endpoint).collect();
    assert_eq!(ids, ["test/001", "test/003"]);
    let profile = &record.profiles[0];
    assert_eq!(
        (&*profile.filters[0].name, profile.filters[0].left),
        ("utilization-detector", 1)
    );
    assert_eq!((&*profile.kept, &*profile.chosen), (&[1][..], &[1][..]));
}

#[test]
fn the_newest_records_are_kept() {
    let pool = Pool::recorded(STANDARD, 2, 7, 2);
    let picked: Vec<_> = (0..3)
        .map(|number| {
            // Of more in a second than there is room for, only a sample is kept.
            pool.wait(Duration::from_secs(1));
            pool.pick(&Ask::prompt(&number.to_string())).unwrap()
        })
        .collect();
    let newest = pool.recorder.newest(9);
    let records = picked.iter().rev().take(2).map(|one| one.record.as_ref());
    let same = records
        .zip(&newest)
        .all(|(one, other)| Arc::ptr_eq(one.unwrap(), other));
    assert!(same && newest.len() == 2);
    assert_eq!(pool.recorder.newest(1).len(), 1);
    let none = Pool::recorded(STANDARD, 2, 7, 0);
    let decision = none.pick(&Ask::prompt("hello")).unwrap();
    assert!(decision.record.is_none());
    assert_eq!(none.recorder.newest(9).len(), 0);
}
