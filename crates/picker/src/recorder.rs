//! Keeps the newest decisions for the admin API.

mod quota;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;

use crate::clock::Clock;
use crate::decision::ModelNames;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::record::{Candidate, FilterRecord, ProfileRecord, Record, ScorerRecord};
use crate::request::PickRequest;
use crate::schedule::{Profile, Run};
use crate::scratch::Scratch;
use quota::Quota;

/// The newest decisions, and of many a second a sample: see [`Recorder::new`].
#[derive(Debug)]
pub struct Recorder {
    limit: usize,
    quota: Quota,
    ring: Mutex<VecDeque<Arc<Record>>>,
}

/// So many decisions a second are cheap to write down, however few are kept.
const LEAST_A_SECOND: usize = 256;

/// Pools with more endpoints than this keep a sample of their decisions: the records of a thousand
/// endpoints would cost more than the pick itself.
const FULL_RECORDS_UP_TO: usize = 64;

// === impl Recorder ===

impl Recorder {
    /// Keeps the newest `limit` decisions; 0 keeps none and costs nothing. Of more than `limit` a
    /// second, and more than 256, or in a pool of more than 64 endpoints, a sample is kept.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            quota: Quota::new(if limit == 0 {
                0
            } else {
                limit.max(LEAST_A_SECOND)
            }),
            ring: Mutex::new(VecDeque::with_capacity(limit)),
        }
    }

    /// The newest `limit` decisions, newest first.
    #[must_use]
    pub fn newest(&self, limit: usize) -> Vec<Arc<Record>> {
        self.ring.lock().iter().rev().take(limit).cloned().collect()
    }

    /// Whether a decision over `endpoints` is to be kept, given a random number.
    fn wants(&self, endpoints: usize, random: u32, now: Instant) -> bool {
        let one_in = u32::try_from(endpoints / FULL_RECORDS_UP_TO)
            .unwrap_or(u32::MAX)
            .max(1);
        random.is_multiple_of(one_in) && self.quota.take(now)
    }

    fn push(&self, record: Arc<Record>) {
        let mut ring = self.ring.lock();
        if ring.len() >= self.limit {
            ring.pop_front();
        }
        ring.push_back(record);
    }
}

/// Writes one decision down, unless it is not wanted.
pub(crate) fn record(
    recorder: &Recorder,
    engine: &Engine,
    (request, model, priority): (&PickRequest<'_>, &ModelNames, i32),
    (pool, endpoints, scratch): (&Arc<str>, &[Arc<Endpoint>], &Scratch),
    clock: (&dyn Clock, Instant),
) -> Option<Arc<Record>> {
    use rand::RngCore as _;
    let random = scratch.rng.clone().next_u32();
    let (clock, started) = clock;
    if !recorder.wants(endpoints.len(), random, started) {
        return None;
    }
    let took = clock.now().saturating_duration_since(started);
    let profiles = scratch.results.ran().iter().filter_map(|index| {
        Some(profile_record(
            engine.profiles.get(index)?,
            scratch.results.run(index)?,
            scratch,
        ))
    });
    let record = Arc::new(Record {
        request_id: request.id.into(),
        time: clock.wall(),
        route: request.route.into(),
        pool: Arc::clone(pool),
        model: clipped(&model.incoming),
        target_model: clipped(&model.target),
        priority,
        candidates: candidates(endpoints, scratch),
        profiles: profiles.collect(),
        pick_micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        outcome: OnceLock::new(),
    });
    recorder.push(Arc::clone(&record));
    Some(record)
}

/// Longest name that is kept, in bytes: names come from clients.
const NAME_MAX: usize = 256;

fn clipped(name: &Arc<str>) -> Arc<str> {
    match name.get(..name.floor_char_boundary(NAME_MAX)) {
        Some(start) if start.len() < name.len() => Arc::from(format!("{start}…")),
        _ => Arc::clone(name),
    }
}

fn candidates(endpoints: &[Arc<Endpoint>], scratch: &Scratch) -> Vec<Candidate> {
    let candidate = |&place: &u32| {
        let endpoint = endpoints.get(place as usize)?;
        let load = scratch.load.get(place as usize).filter(|load| load.fresh);
        Some(Candidate {
            endpoint: Arc::clone(endpoint.id()),
            address: Arc::clone(endpoint.authority()),
            waiting: load.map(|load| load.waiting),
            running: load.map(|load| load.running),
            kv_usage: load.map(|load| load.kv_usage),
            in_flight: endpoint.in_flight_requests(),
        })
    };
    scratch.candidates.iter().filter_map(candidate).collect()
}

/// One profile's run, with places of the pool turned into places of the candidates.
fn profile_record(profile: &Profile, run: &Run, scratch: &Scratch) -> ProfileRecord {
    let index = |place: u32| {
        u32::try_from(scratch.candidates.binary_search(&place).unwrap_or_default()).unwrap_or(0)
    };
    let len = run.kept.len().max(1);
    ProfileRecord {
        name: Arc::clone(&profile.name),
        kept: run.kept.iter().map(|&place| index(place)).collect(),
        filters: profile
            .filters
            .iter()
            .zip(&run.left)
            .map(|((name, _), &left)| FilterRecord {
                name: Arc::clone(name),
                left,
            })
            .collect(),
        scorers: profile
            .scorers
            .iter()
            .zip(run.scores.chunks_exact(len))
            .map(|(weighted, scores)| ScorerRecord {
                name: Arc::clone(&weighted.name),
                weight: weighted.weight,
                scores: scores.to_vec(),
            })
            .collect(),
        #[expect(clippy::cast_possible_truncation, reason = "shown with two decimals")]
        totals: run.totals.iter().map(|&total| total as f32).collect(),
        picker: Arc::clone(&profile.picker.0),
        chosen: run.chosen_places().map(index).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_clients_are_kept_in_part() {
        let name: Arc<str> = Arc::from("×".repeat(10_000));
        assert!(clipped(&name).len() <= NAME_MAX + '…'.len_utf8());
        let short: Arc<str> = Arc::from("llama");
        assert!(Arc::ptr_eq(&clipped(&short), &short));
    }
}
