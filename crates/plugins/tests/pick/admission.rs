//! Which endpoints may be picked, and which requests are let in.

use std::time::Duration;

use suimon_picker::{Metrics, PickError};

use crate::pool::{Ask, Pool, STANDARD, address, alone};

const OBJECTIVE: &str = "x-llm-d-inference-objective";
const FORMER_OBJECTIVE: &str = "x-gateway-inference-objective";

fn queue(waiting: u32) -> Metrics {
    Metrics {
        waiting,
        ..Metrics::default()
    }
}

/// Distinct, so that no prefix is held.
fn asks(count: usize) -> impl Iterator<Item = Ask> {
    (0..count).map(|number| Ask::prompt(&format!("{number} is the number")))
}

#[test]
fn an_empty_pool_has_no_endpoints_and_is_full() {
    let pool = Pool::new(STANDARD, 0);
    let error = pool.pick(&Ask::prompt("hello")).unwrap_err();
    assert!(matches!(error, PickError::NoEndpoints), "{error}");
    assert_eq!(
        error.to_string(),
        "failed to find endpoint candidates for serving the request"
    );
    assert_eq!(pool.picker.saturation(), 1.0);
}

#[test]
fn a_subset_bounds_the_choice() {
    let pool = Pool::idle(STANDARD, 4);
    for ask in asks(50) {
        assert!([1, 3].contains(&pool.goes_to(&ask.only(&[1, 3]))));
    }
    for none in [&[9][..], &[]] {
        let error = pool.pick(&Ask::prompt("hello").only(none)).unwrap_err();
        assert!(matches!(error, PickError::NoEndpoints), "{error}");
    }
    let decision = pool.pick(&Ask::prompt("hello").only(&[1, 3])).unwrap();
    let mut all: Vec<_> = decision.endpoints.iter().map(|one| one.address()).collect();
    all.sort();
    assert_eq!(
        all,
        [address(1), address(3)],
        "no fallback outside the subset"
    );
}

#[test]
fn an_endpoint_that_was_never_scraped_does_not_win() {
    let pool = Pool::new(STANDARD, 3);
    pool.scrape(0, queue(1));
    pool.scrape(1, queue(1));
    for ask in asks(100) {
        assert_ne!(pool.goes_to(&ask), 2);
    }
    pool.scrape(2, queue(0));
    for ask in asks(100) {
        let ask = ask.header("x-llm-d-model-name-rewrite", "other");
        assert_eq!(pool.goes_to(&ask), 2, "idle for certain is best");
    }
}

#[test]
fn figures_that_are_too_old_say_no_more_than_none() {
    let pool = Pool::idle(STANDARD, 2);
    pool.wait(Duration::from_millis(2001));
    pool.scrape(0, queue(50));
    for ask in asks(50) {
        assert_eq!(pool.goes_to(&ask), 0);
    }
}

#[test]
fn a_pool_that_was_never_scraped_still_serves() {
    let pool = Pool::new(STANDARD, 3);
    let mut seen = [false; 3];
    for ask in asks(200) {
        seen[pool.goes_to(&ask)] = true;
    }
    assert_eq!(seen, [true; 3]);
}

#[test]
fn a_full_pool_sheds_what_has_a_negative_priority() {
    let pool = Pool::idle(STANDARD, 2);
    pool.objectives(&[("batch", -1), ("chat", 5), ("plain", 0)]);
    let hello = Ask::prompt("hello");
    let priority = |name: &str| {
        let ask = hello.clone().header(OBJECTIVE, name);
        pool.pick(&ask).map(|decision| decision.priority)
    };
    assert_eq!(priority("batch").unwrap(), -1, "there is room");
    pool.scrape(0, queue(5));
    pool.scrape(1, queue(5));
    assert_eq!(pool.picker.saturation(), 1.0);
    let error = priority("batch").unwrap_err();
    assert!(matches!(error, PickError::Saturated), "{error}");
    assert_eq!(
        error.to_string(),
        "system saturated, sheddable request dropped"
    );
    assert_eq!(priority("chat").unwrap(), 5);
    assert_eq!(priority("plain").unwrap(), 0);
    assert_eq!(priority("unknown").unwrap(), 0);
    assert_eq!(pool.pick(&hello).unwrap().priority, 0);
    pool.scrape(1, queue(4));
    assert_eq!(priority("batch").unwrap(), -1, "0.9 on the mean");
}

#[test]
fn both_names_of_the_header_count_and_the_present_one_first() {
    let pool = Pool::idle(STANDARD, 1);
    pool.objectives(&[("batch", -1), ("chat", 5)]);
    let former = Ask::prompt("hello").header(FORMER_OBJECTIVE, "batch");
    assert_eq!(pool.pick(&former).unwrap().priority, -1);
    let both = former.header(OBJECTIVE, "chat");
    assert_eq!(pool.pick(&both).unwrap().priority, 5);
}

#[test]
fn a_gap_between_scrapes_sheds_only_beyond_the_threshold() {
    let lenient = "plugins: [{type: queue-scorer}, {type: utilization-detector, \
                   parameters: {metricsStalenessThreshold: 1500ms}}]";
    for (yaml, most) in [(&*alone("queue-scorer"), 200), (lenient, 1500)] {
        let pool = Pool::idle(yaml, 1);
        pool.objectives(&[("batch", -1)]);
        let batch = Ask::prompt("hello").header(OBJECTIVE, "batch");
        pool.wait(Duration::from_millis(most));
        assert!(pool.pick(&batch).is_ok(), "{most} ms");
        pool.wait(Duration::from_millis(1));
        let error = pool.pick(&batch).unwrap_err();
        assert!(matches!(error, PickError::Saturated), "{error}");
        assert!(pool.pick(&Ask::prompt("hello")).is_ok());
    }
}

#[test]
fn a_detector_in_a_profile_filters_the_full_ones_unless_all_are() {
    let yaml = "
plugins: [{type: utilization-detector}, {type: random-picker}]
schedulingProfiles:
- name: default
  plugins: [{pluginRef: utilization-detector}, {pluginRef: random-picker}]
";
    let pool = Pool::idle(yaml, 3);
    pool.scrape(0, queue(5));
    pool.scrape(2, queue(9));
    for ask in asks(30) {
        assert_eq!(pool.goes_to(&ask), 1);
    }
    pool.scrape(1, queue(5));
    let mut seen = [false; 3];
    for ask in asks(100) {
        seen[pool.goes_to(&ask)] = true;
    }
    assert_eq!(seen, [true; 3]);
}
