//! Runs the profiles: filters, scorers, picker.

use std::sync::Arc;

use rand::rngs::SmallRng;

use crate::error::PickError;
use crate::role::{Filter, Picker, ProfileHandler, Scorer};
use crate::view::View;

/// A scheduling profile, built.
pub(crate) struct Profile {
    pub(crate) name: Arc<str>,
    pub(crate) filters: Vec<(Arc<str>, Arc<dyn Filter>)>,
    pub(crate) scorers: Vec<Weighted>,
    pub(crate) picker: (Arc<str>, Arc<dyn Picker>),
}

/// A scorer with its weight in a profile.
pub(crate) struct Weighted {
    pub(crate) name: Arc<str>,
    pub(crate) weight: f64,
    pub(crate) scorer: Arc<dyn Scorer>,
}

/// A set of profiles by index; at most 64 are configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileSet(u64);

/// What the profiles of one pick gave, by index. Reused from pick to pick.
#[derive(Debug, Default)]
pub struct Results {
    runs: Vec<Run>,
    ran: ProfileSet,
}

/// One profile's run. Vectors are parallel to `kept` unless said.
#[derive(Debug, Default)]
pub struct Run {
    /// Places that the filters left.
    pub kept: Vec<u32>,
    /// How many candidates each filter left; those that did not run are missing.
    pub left: Vec<usize>,
    /// Scores, one row of `kept.len()` a scorer, in the order of the profile, clamped to 0..=1.
    pub scores: Vec<f32>,
    /// Weighted sums.
    pub totals: Vec<f64>,
    /// Indexes into `kept` that the picker chose, best first. Empty: the profile failed.
    pub chosen: Vec<u32>,
}

/// Bound on the rounds of a profile handler: one that never stops cannot hang a request.
const MAX_ROUNDS: usize = 64;

/// Runs profiles as `handler` says; the result is the index of the primary one.
pub(crate) fn schedule(
    profiles: &[Profile],
    handler: &dyn ProfileHandler,
    view: &View<'_>,
    candidates: &[u32],
    (results, rng): (&mut Results, &mut SmallRng),
) -> Result<usize, PickError> {
    results.reset(profiles.len());
    for _ in 0..MAX_ROUNDS {
        let todo = handler.next(view, results).without(results.ran);
        if todo.is_empty() {
            break;
        }
        for index in todo.iter().take_while(|&index| index < profiles.len()) {
            let (Some(profile), Some(run)) = (profiles.get(index), results.runs.get_mut(index))
            else {
                continue;
            };
            profile.run(view, candidates, run, rng);
            results.ran.insert(index);
        }
    }
    let primary = handler.finish(results)?;
    match results.run(primary) {
        Some(run) if !run.chosen.is_empty() => Ok(primary),
        _ => Err(PickError::Filtered),
    }
}

// === impl Profile ===

impl Profile {
    fn run(&self, view: &View<'_>, candidates: &[u32], run: &mut Run, rng: &mut SmallRng) {
        run.kept.extend_from_slice(candidates);
        for (_, filter) in &self.filters {
            filter.filter(view, &mut run.kept);
            run.left.push(run.kept.len());
            if run.kept.is_empty() {
                return;
            }
        }
        let len = run.kept.len();
        run.scores.resize(len * self.scorers.len(), 0.0);
        run.totals.resize(len, 0.0);
        for (weighted, scores) in self.scorers.iter().zip(run.scores.chunks_exact_mut(len)) {
            weighted.scorer.score(view, &run.kept, scores);
            for (score, total) in scores.iter_mut().zip(&mut run.totals) {
                *score = clamp(*score);
                *total += f64::from(*score) * weighted.weight;
            }
        }
        self.picker.1.pick(&run.totals, rng, &mut run.chosen);
        run.chosen.retain(|&index| (index as usize) < len);
    }
}

impl std::fmt::Debug for Profile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Profile({})", self.name)
    }
}

/// A score is 0..=1; one that is not a number says nothing, so it counts as 0.
fn clamp(score: f32) -> f32 {
    if score.is_nan() {
        0.0
    } else {
        score.clamp(0.0, 1.0)
    }
}

// === impl ProfileSet ===

impl ProfileSet {
    /// Most profiles that one configuration can have.
    pub const MAX: usize = 64;

    /// The set of one profile.
    #[must_use]
    pub const fn one(index: usize) -> Self {
        Self(if index < Self::MAX { 1 << index } else { 0 })
    }

    /// Whether nothing is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Adds a profile.
    pub const fn insert(&mut self, index: usize) {
        self.0 |= Self::one(index).0;
    }

    /// This set less `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Indexes, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..Self::MAX).filter(move |&index| self.0 & (1 << index) != 0)
    }
}

// === impl Results ===

impl Results {
    /// The run of a profile; `None` while it has not run.
    #[must_use]
    pub fn run(&self, index: usize) -> Option<&Run> {
        self.ran
            .iter()
            .any(|ran| ran == index)
            .then(|| self.runs.get(index))
            .flatten()
    }

    /// Profiles that have run.
    #[must_use]
    pub const fn ran(&self) -> ProfileSet {
        self.ran
    }

    fn reset(&mut self, profiles: usize) {
        self.runs.resize_with(profiles, Run::default);
        self.runs.iter_mut().for_each(Run::clear);
        self.ran = ProfileSet::default();
    }
}

// === impl Run ===

impl Run {
    /// Places that the picker chose, best first.
    pub fn chosen_places(&self) -> impl Iterator<Item = u32> {
        self.chosen
            .iter()
            .filter_map(|&index| self.kept.get(index as usize).copied())
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.left.clear();
        self.scores.clear();
        self.totals.clear();
        self.chosen.clear();
    }
}

#[cfg(test)]
mod tests;
