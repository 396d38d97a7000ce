//! **The walk**: from a request to a decision.

mod model;
mod read;

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use smallvec::SmallVec;
use suimon_llm::InferenceRequest;

use crate::clock::Clock;
use crate::decision::{Decision, InFlight};
use crate::endpoint::{Endpoint, EndpointSpec};
use crate::engine::Engine;
use crate::error::PickError;
use crate::pool::PoolSnapshot;
use crate::recorder::{Recorder, record};
use crate::request::{EndpointPicker, PickRequest, Picking};
use crate::schedule::{Results, schedule};
use crate::scratch::{Scratch, Shelf};
use crate::view::{Produce, Request, Scheduled, View};

pub use model::REWRITE_HEADERS;
use read::{Asked, Opened};

/// Priority of a request without an objective.
const DEFAULT_PRIORITY: i32 = 0;

/// Endpoints behind the picker's own choice that a request may go to when no connection can be made.
const FALLBACKS: usize = 7;

/// Headers that name an InferenceObjective; the first that is present counts.
pub const OBJECTIVE_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-llm-d-inference-objective"),
    HeaderName::from_static("x-gateway-inference-objective"),
];

/// Picks for one pool inside this process.
pub struct PoolPicker {
    name: Arc<str>,
    engine: Engine,
    pool: ArcSwap<PoolSnapshot>,
    /// Serialises changes of `pool`; picks never take it.
    changes: Mutex<()>,
    shelf: Shelf,
    clock: Arc<dyn Clock>,
    recorder: Arc<Recorder>,
}

/// What a [`PoolPicker`] is made of.
#[derive(Debug)]
pub struct PickerParts {
    /// `namespace/name` of the pool.
    pub name: Arc<str>,
    /// The built configuration.
    pub engine: Engine,
    /// Where decisions are kept for the admin API.
    pub recorder: Arc<Recorder>,
    /// Seed of all random choices; the same seed and requests give the same decisions.
    pub seed: u64,
}

// === impl PoolPicker ===

impl PoolPicker {
    /// A picker of an empty pool.
    #[must_use]
    pub fn new(parts: PickerParts, clock: Arc<dyn Clock>) -> Self {
        Self {
            name: parts.name,
            engine: parts.engine,
            pool: ArcSwap::from_pointee(PoolSnapshot::default()),
            changes: Mutex::new(()),
            shelf: Shelf::new(parts.seed),
            clock,
            recorder: parts.recorder,
        }
    }

    /// The pool as it is now.
    #[must_use]
    pub fn pool(&self) -> Arc<PoolSnapshot> {
        self.pool.load_full()
    }

    /// The built configuration.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// `namespace/name` of the pool.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Replaces the endpoints. Those that stay keep their state. Returns the new snapshot.
    pub fn set_members(&self, specs: Vec<EndpointSpec>) -> Arc<PoolSnapshot> {
        self.change(|pool| pool.with_members(specs))
    }

    /// Replaces objectives and rewrites.
    pub fn set_policies(
        &self,
        objectives: std::collections::HashMap<Arc<str>, i32>,
        rewrites: crate::rewrite::RewriteTable,
    ) {
        self.change(|pool| pool.with_policies(objectives, rewrites));
    }

    fn change(&self, to: impl FnOnce(&PoolSnapshot) -> PoolSnapshot) -> Arc<PoolSnapshot> {
        let _one_at_a_time = self.changes.lock();
        let next = Arc::new(to(&self.pool.load()));
        self.pool.store(Arc::clone(&next));
        next
    }

    /// Saturation of the whole pool as a request without objective would see it.
    #[must_use]
    pub fn saturation(&self) -> f64 {
        let (pool, now) = (self.pool.load(), self.clock.now());
        let load: Vec<_> = pool
            .endpoints
            .iter()
            .map(|endpoint| endpoint.load(now))
            .collect();
        let candidates: Vec<u32> = (0..).zip(&load).map(|(place, _)| place).collect();
        let (columns, headers) = (crate::Columns::default(), HeaderMap::new());
        let inference = InferenceRequest::opaque();
        let request = Request {
            id: "",
            headers: &headers,
            inference: &inference,
            body: &[],
            model: "",
            priority: DEFAULT_PRIORITY,
        };
        let view = View {
            request: &request,
            endpoints: &pool.endpoints,
            load: &load,
            columns: &columns,
            now,
        };
        self.engine.detector.saturation(&view, &candidates)
    }

    /// Decides at once: the walk. Each line is a step; the pool is loaded exactly once.
    ///
    /// # Errors
    /// See [`PickError`].
    pub fn pick_now(&self, request: &PickRequest<'_>) -> Result<Decision, PickError> {
        let started = self.clock.now();
        let pool = self.pool.load();
        let opened = Opened::of(request, &self.engine.parsers)?;
        let mut scratch = self.shelf.take(&self.engine);
        let read = read::read(request, &opened, &pool, &mut scratch.rng);
        let decided = read.and_then(|asked| {
            scratch.fill(&pool, request, started);
            let result = self.decide(request, &asked, &pool, (&mut scratch, started));
            result.map(|(target, headers, tokens)| {
                self.conclude(
                    request,
                    asked,
                    &pool,
                    (&scratch, started, target, headers, tokens),
                )
            })
        });
        self.shelf.give(scratch);
        decided
    }

    /// Admits, lets producers work, schedules and tells the pre-request hooks.
    fn decide(
        &self,
        pick: &PickRequest<'_>,
        asked: &Asked<'_>,
        pool: &PoolSnapshot,
        (scratch, now): (&mut Scratch, Instant),
    ) -> Result<(u32, HeaderMap, u64), PickError> {
        if scratch.candidates.is_empty() {
            return Err(PickError::NoEndpoints);
        }
        let request = &asked.request(pick);
        self.admit(request, pool, (scratch, now))?;
        self.produce(request, pool, scratch);
        let target = self.schedule(request, pool, (scratch, now))?;
        let set_headers = self.pre_request(request, pool, (scratch, target));
        let tokens = self.tokens(&asked.inference, (scratch, target));
        Ok((target, set_headers, tokens))
    }

    /// A request of negative priority is refused while the pool is saturated.
    fn admit(
        &self,
        request: &Request<'_>,
        pool: &PoolSnapshot,
        (scratch, now): (&Scratch, Instant),
    ) -> Result<(), PickError> {
        if request.priority >= 0 {
            return Ok(());
        }
        let view = View {
            request,
            endpoints: &pool.endpoints,
            load: &scratch.load,
            columns: &scratch.columns,
            now,
        };
        let saturation = self.engine.detector.saturation(&view, &scratch.candidates);
        if saturation >= 1.0 {
            return Err(PickError::Saturated);
        }
        Ok(())
    }

    /// Fills the columns.
    fn produce(&self, request: &Request<'_>, pool: &PoolSnapshot, scratch: &mut Scratch) {
        let mut produce = Produce {
            request,
            endpoints: &pool.endpoints,
            load: &scratch.load,
            candidates: &scratch.candidates,
            places: &pool.places,
            columns: &mut scratch.columns,
            states: &mut scratch.states,
        };
        for producer in &self.engine.producers {
            producer.produce(&mut produce);
        }
    }

    /// Place of the endpoint that the request goes to.
    fn schedule(
        &self,
        request: &Request<'_>,
        pool: &PoolSnapshot,
        (scratch, now): (&mut Scratch, Instant),
    ) -> Result<u32, PickError> {
        let view = View {
            request,
            endpoints: &pool.endpoints,
            load: &scratch.load,
            columns: &scratch.columns,
            now,
        };
        let primary = schedule(
            &self.engine.profiles,
            &*self.engine.handler,
            &view,
            &scratch.candidates,
            (&mut scratch.results, &mut scratch.rng),
        )?;
        let run = scratch.results.run(primary);
        run.and_then(|run| run.chosen_places().next())
            .ok_or(PickError::Filtered)
    }

    /// Headers that the hooks set on the request.
    fn pre_request(
        &self,
        request: &Request<'_>,
        pool: &PoolSnapshot,
        (scratch, target): (&mut Scratch, u32),
    ) -> HeaderMap {
        let mut set_headers = HeaderMap::new();
        let mut scheduled = Scheduled {
            request,
            endpoints: &pool.endpoints,
            target,
            columns: &scratch.columns,
            states: &mut scratch.states,
            set_headers: &mut set_headers,
        };
        for hook in &self.engine.pre_request {
            hook.pre_request(&mut scheduled);
        }
        set_headers
    }

    /// Prompt tokens that the target has to compute: those not in its cache, where that is known.
    fn tokens(&self, inference: &InferenceRequest<'_>, (scratch, target): (&Scratch, u32)) -> u64 {
        let uncached = self
            .engine
            .uncached
            .and_then(|key| scratch.columns.read(key).get(target as usize).copied());
        uncached.unwrap_or_else(|| inference.prompts.token_estimate())
    }

    /// Takes the request into the ledger and writes the decision down.
    fn conclude(
        &self,
        request: &PickRequest<'_>,
        asked: Asked<'_>,
        pool: &PoolSnapshot,
        (scratch, started, target, set_headers, tokens): (&Scratch, Instant, u32, HeaderMap, u64),
    ) -> Decision {
        let (endpoints, chosen) = targets(&scratch.results, &pool.endpoints, target);
        let record = record(
            &self.recorder,
            &self.engine,
            (request, &asked.model, asked.priority),
            (&self.name, &pool.endpoints, scratch),
            (&*self.clock, started),
        );
        let in_flight = endpoints
            .first()
            .map_or_else(InFlight::untracked, |first| InFlight::new(first, tokens));
        Decision {
            endpoints,
            chosen,
            api: asked.inference.kind,
            model: asked.model,
            priority: asked.priority,
            set_headers,
            remove_headers: Vec::new(),
            body: None,
            follow: None,
            in_flight,
            record,
        }
    }
}

impl EndpointPicker for PoolPicker {
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a> {
        Box::pin(std::future::ready(self.pick_now(&request)))
    }
}

impl std::fmt::Debug for PoolPicker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PoolPicker({})", self.name)
    }
}

fn first_header<'a>(headers: &'a HeaderMap, names: &[HeaderName]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| headers.get(name))
        .and_then(|value| value.to_str().ok())
}

/// The primary profile's choice, then the best of the rest; and how many are the choice.
fn targets(
    results: &Results,
    endpoints: &[Arc<Endpoint>],
    target: u32,
) -> (SmallVec<[Arc<Endpoint>; 4]>, usize) {
    let primary = results.ran().iter().filter_map(|index| results.run(index));
    let Some(run) = primary
        .into_iter()
        .find(|run| run.chosen_places().next() == Some(target))
    else {
        return (SmallVec::new(), 0);
    };
    let at = |place: u32| endpoints.get(place as usize).cloned();
    let mut targets: SmallVec<[Arc<Endpoint>; 4]> = run.chosen_places().filter_map(at).collect();
    let chosen = targets.len();
    let mut best: SmallVec<[(f64, u32); FALLBACKS + 1]> = SmallVec::new();
    for (index, (&place, &total)) in (0_u32..).zip(run.kept.iter().zip(&run.totals)) {
        if run.chosen.contains(&index) {
            continue;
        }
        let rank = best
            .iter()
            .position(|&(other, _)| total > other)
            .unwrap_or(best.len());
        if rank < FALLBACKS {
            best.insert(rank, (total, place));
            best.truncate(FALLBACKS);
        }
    }
    targets.extend(best.into_iter().filter_map(|(_, place)| at(place)));
    (targets, chosen)
}
