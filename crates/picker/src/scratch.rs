//! Memory of one pick, reused from pick to pick.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::SmallRng;

use crate::columns::{Columns, States};
use crate::engine::Engine;
use crate::metrics::Load;
use crate::pool::PoolSnapshot;
use crate::request::PickRequest;
use crate::schedule::Results;

/// Memory of one pick. Grows to the size of the pool once, then nothing is allocated.
pub(crate) struct Scratch {
    pub(crate) load: Vec<Load>,
    pub(crate) candidates: Vec<u32>,
    pub(crate) columns: Columns,
    pub(crate) states: States,
    pub(crate) results: Results,
    pub(crate) rng: SmallRng,
}

/// Scratches that are not in use. Holds as many as picks ever ran at once.
pub(crate) struct Shelf {
    free: Mutex<Vec<Scratch>>,
    seeds: Mutex<SmallRng>,
}

// === impl Scratch ===

impl Scratch {
    /// Takes the pool's state at `now` and the candidates that the request allows.
    pub(crate) fn fill(&mut self, pool: &PoolSnapshot, request: &PickRequest<'_>, now: Instant) {
        self.load.clear();
        self.load
            .extend(pool.endpoints.iter().map(|endpoint| endpoint.load(now)));
        self.candidates.clear();
        let allowed = |endpoint: &Arc<crate::Endpoint>| {
            request
                .subset
                .is_none_or(|subset| subset.allows(endpoint.address()))
        };
        let places = (0..).zip(pool.endpoints.iter());
        self.candidates
            .extend(places.filter(|(_, e)| allowed(e)).map(|(place, _)| place));
        let reachable = |place: &u32| {
            pool.endpoints
                .get(*place as usize)
                .is_some_and(|endpoint| !endpoint.is_avoided(now))
        };
        if self.candidates.iter().any(reachable) {
            self.candidates.retain(reachable);
        }
        self.columns.reset(pool.endpoints.len());
    }
}

// === impl Shelf ===

impl Shelf {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            free: Mutex::new(Vec::new()),
            seeds: Mutex::new(SmallRng::seed_from_u64(seed)),
        }
    }

    pub(crate) fn take(&self, engine: &Engine) -> Scratch {
        if let Some(scratch) = self.free.lock().pop() {
            return scratch;
        }
        let (columns, states) = engine.storage();
        Scratch {
            load: Vec::new(),
            candidates: Vec::new(),
            columns,
            states,
            results: Results::default(),
            rng: SmallRng::from_rng(&mut *self.seeds.lock()),
        }
    }

    pub(crate) fn give(&self, scratch: Scratch) {
        self.free.lock().push(scratch);
    }
}
