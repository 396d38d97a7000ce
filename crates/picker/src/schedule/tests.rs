use http::HeaderMap;
use rand::SeedableRng;
use suimon_llm::InferenceRequest;

use super::*;
use crate::clock::{Clock as _, SystemClock};
use crate::columns::Columns;
use crate::metrics::Load;
use crate::view::Request;

/// Writes the same scores to whatever there is.
struct Says(Vec<f32>);

impl Scorer for Says {
    fn score(&self, _: &View<'_>, _: &[u32], scores: &mut [f32]) {
        scores.copy_from_slice(&self.0[..scores.len()]);
    }
}

/// Keeps the places below a bound.
struct Below(u32);

impl Filter for Below {
    fn filter(&self, _: &View<'_>, candidates: &mut Vec<u32>) {
        candidates.retain(|&place| place < self.0);
    }
}

/// Chooses the same indexes whatever the totals.
struct Chooses(Vec<u32>);

impl Picker for Chooses {
    fn pick(&self, _: &[f64], _: &mut SmallRng, chosen: &mut Vec<u32>) {
        chosen.extend(&self.0);
    }
}

/// Runs profiles one after the other, without end, and follows the first.
struct Endless;

impl ProfileHandler for Endless {
    fn next(&self, _: &View<'_>, results: &Results) -> ProfileSet {
        let ran = results.ran().iter().count();
        ProfileSet::one(ran % ProfileSet::MAX)
    }

    fn finish(&self, _: &Results) -> Result<usize, PickError> {
        Ok(0)
    }

    fn check(&self, _: &[&str]) -> Result<(), String> {
        Ok(())
    }
}

fn profile(filters: &[u32], scorers: &[(f64, &[f32])], chosen: &[u32]) -> Profile {
    let filters = filters.iter().map(|&bound| {
        let filter: Arc<dyn Filter> = Arc::new(Below(bound));
        (Arc::from("filter"), filter)
    });
    let scorers = scorers.iter().map(|&(weight, scores)| Weighted {
        name: Arc::from("scorer"),
        weight,
        scorer: Arc::new(Says(scores.to_vec())),
    });
    Profile {
        name: Arc::from("profile"),
        filters: filters.collect(),
        scorers: scorers.collect(),
        picker: (Arc::from("picker"), Arc::new(Chooses(chosen.to_vec()))),
    }
}

/// Schedules over three candidates; the results are those of the primary profile.
fn run(profiles: &[Profile]) -> (Result<usize, PickError>, Results) {
    let (headers, columns) = (HeaderMap::new(), Columns::default());
    let inference = InferenceRequest::opaque();
    let request = Request {
        id: "test",
        headers: &headers,
        body: &[],
        inference: &inference,
        model: "",
        priority: 0,
    };
    let view = View {
        request: &request,
        endpoints: &[],
        load: &[Load::default(); 3],
        columns: &columns,
        now: SystemClock.now(),
    };
    let mut results = Results::default();
    let mut rng = SmallRng::seed_from_u64(1);
    let state = (&mut results, &mut rng);
    let primary = schedule(profiles, &Endless, &view, &[0, 1, 2], state);
    (primary, results)
}

#[test]
fn scores_are_clamped_weighted_and_added_up() {
    let wild: &[f32] = &[f32::NAN, -3.0, f32::INFINITY];
    let (primary, results) = run(&[profile(&[], &[(2.0, &[0.0, 0.5, 1.0]), (3.0, wild)], &[2])]);
    assert_eq!(primary.unwrap(), 0);
    let run = results.run(0).unwrap();
    assert_eq!(run.scores, [0.0, 0.5, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(run.totals, [0.0, 1.0, 5.0]);
    assert_eq!(run.chosen_places().collect::<Vec<_>>(), [2]);
}

#[test]
fn filters_that_leave_nothing_end_the_profile() {
    let (primary, results) = run(&[profile(&[2, 0, 9], &[(1.0, &[1.0; 3])], &[0])]);
    assert!(matches!(primary, Err(PickError::Filtered)));
    let run = results.run(0).unwrap();
    assert_eq!(run.left, [2, 0], "the third does not run");
    assert!(run.scores.is_empty() && run.chosen.is_empty());
}

#[test]
fn a_choice_outside_the_candidates_is_none() {
    let (primary, _) = run(&[profile(&[2], &[], &[2, 7])]);
    assert!(matches!(primary, Err(PickError::Filtered)));
    let (primary, results) = run(&[profile(&[2], &[], &[7, 1])]);
    assert_eq!(primary.unwrap(), 0);
    let places = results.run(0).unwrap().chosen_places();
    assert_eq!(places.collect::<Vec<_>>(), [1]);
}

#[test]
fn a_handler_without_end_runs_each_profile_once_and_stops() {
    let profiles: Vec<Profile> = (0..3).map(|index| profile(&[], &[], &[index])).collect();
    let (primary, results) = run(&profiles);
    assert_eq!(primary.unwrap(), 0);
    assert_eq!(results.ran().iter().collect::<Vec<_>>(), [0, 1, 2]);
    for index in 0..3 {
        assert_eq!(results.run(index).unwrap().chosen, [index as u32]);
    }
    assert!(results.run(3).is_none());
}

#[test]
fn without_a_profile_nothing_is_chosen() {
    let (primary, results) = run(&[]);
    assert!(matches!(primary, Err(PickError::Filtered)));
    assert!(results.ran().is_empty());
}

#[test]
fn sets_hold_64_profiles_and_ignore_what_is_beyond() {
    let mut set = ProfileSet::one(63);
    set.insert(0);
    set.insert(64);
    assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63]);
    assert_eq!(set.without(ProfileSet::one(63)), ProfileSet::one(0));
    assert!(ProfileSet::one(64).is_empty());
}
