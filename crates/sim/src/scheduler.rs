//! Slots, the wait queue and the KV cache behind one lock.
//!
//! Sequences are admitted in order of arrival while a slot is free. One that waits for an adapter
//! slot is passed by; one whose blocks do not fit holds up those behind it, as in vLLM.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::config::Config;
use crate::kv_cache::KvCache;
use crate::lora::{LoraLog, LoraSet};

/// Admission of sequences to a replica's slots.
#[derive(Debug)]
pub(crate) struct Scheduler {
    limits: Limits,
    state: Mutex<State>,
}

/// A place in the queue, later a slot. Dropping it leaves the queue or frees the slot.
#[derive(Debug)]
pub(crate) struct Slot {
    scheduler: Arc<Scheduler>,
    id: u64,
    granted: oneshot::Receiver<usize>,
}

/// What a sequence needs to run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand {
    /// Adapter, none for the base model.
    pub(crate) lora: Option<String>,
    /// Hashes of the prompt's full blocks; empty when no cache is simulated.
    pub(crate) blocks: Vec<u64>,
}

/// Why a sequence is not even queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// As many sequences as allowed are waiting.
    QueueFull,
    /// The prompt is larger than the whole KV cache.
    CacheTooSmall,
}

/// Load at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Load {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// Of the waiting, those that a free slot would not help: their adapter does not fit.
    pub(crate) deferred: usize,
    /// 0 to 1.
    pub(crate) kv_cache_usage: f64,
}

#[derive(Debug)]
struct Limits {
    slots: usize,
    waiting: usize,
    loras: usize,
}

#[derive(Debug)]
struct State {
    next_id: u64,
    running: BTreeMap<u64, Demand>,
    waiting: VecDeque<Waiter>,
    cache: KvCache,
    loras: LoraLog,
}

#[derive(Debug)]
struct Waiter {
    id: u64,
    demand: Demand,
    grant: oneshot::Sender<usize>,
}

// === impl Scheduler ===

impl Scheduler {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            limits: Limits {
                slots: config.max_num_seqs.max(1),
                waiting: config.max_waiting_queue_length,
                loras: config.max_loras.max(1),
            },
            state: Mutex::new(State {
                next_id: 0,
                running: BTreeMap::new(),
                waiting: VecDeque::new(),
                cache: KvCache::new(config.kv_cache_size),
                loras: LoraLog::default(),
            }),
        }
    }

    /// Takes a slot, or a place in the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, demand: Demand) -> Result<Slot, Refusal> {
        let (grant, granted) = oneshot::channel();
        let mut state = self.state.lock();
        if demand.blocks.len() > state.cache.capacity() {
            return Err(Refusal::CacheTooSmall);
        }
        let id = state.next_id;
        state.next_id += 1;
        let lora = demand.lora.is_some();
        state.waiting.push_back(Waiter { id, demand, grant });
        state.admit(&self.limits);
        let queued = state.waiting.back().is_some_and(|waiter| waiter.id == id);
        if queued && state.waiting.len() > self.limits.waiting {
            state.waiting.pop_back();
            return Err(Refusal::QueueFull);
        }
        if lora {
            state.note_loras();
        }
        drop(state);
        Ok(Slot {
            scheduler: Arc::clone(self),
            id,
            granted,
        })
    }

    /// Sequences that hold a slot.
    pub(crate) fn running(&self) -> usize {
        self.state.lock().running.len()
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.state.lock();
        let deferred = state
            .waiting
            .iter()
            .filter(|waiter| !state.lora_fits(&waiter.demand, &self.limits));
        Load {
            running: state.running.len(),
            waiting: state.waiting.len(),
            deferred: deferred.count(),
            kv_cache_usage: state.cache.usage(),
        }
    }

    /// The history of running and waiting adapters.
    pub(crate) fn lora_sets(&self) -> Vec<LoraSet> {
        self.state.lock().loras.sets().to_vec()
    }

    fn leave(&self, id: u64) {
        let mut state = self.state.lock();
        let demand = if let Some(demand) = state.running.remove(&id) {
            state.cache.release(&demand.blocks);
            Some(demand)
        } else {
            let at = state.waiting.iter().position(|waiter| waiter.id == id);
            at.and_then(|at| state.waiting.remove(at))
                .map(|waiter| waiter.demand)
        };
        let moved = state.admit(&self.limits);
        if moved || demand.is_some_and(|demand| demand.lora.is_some()) {
            state.note_loras();
        }
    }
}

// === impl State ===

impl State {
    /// Admits who can run; returns whether one of them uses an adapter.
    fn admit(&mut self, limits: &Limits) -> bool {
        let mut adapters = false;
        let mut at = 0;
        while self.running.len() < limits.slots {
            let Some(waiter) = self.waiting.get(at) else {
                break;
            };
            if !self.lora_fits(&waiter.demand, limits) {
                at += 1;
                continue;
            }
            let Some(hits) = self.cache.acquire(&waiter.demand.blocks) else {
                break;
            };
            let Some(waiter) = self.waiting.remove(at) else {
                break;
            };
            adapters |= waiter.demand.lora.is_some();
            self.running.insert(waiter.id, waiter.demand);
            // A receiver that is gone is about to leave by its slot's drop.
            let _ = waiter.grant.send(hits);
        }
        adapters
    }

    fn lora_fits(&self, demand: &Demand, limits: &Limits) -> bool {
        let Some(wanted) = demand.lora.as_deref() else {
            return true;
        };
        let mut running: Vec<&str> = self
            .running
            .values()
            .filter_map(|demand| demand.lora.as_deref())
            .collect();
        running.sort_unstable();
        running.dedup();
        running.contains(&wanted) || running.len() < limits.loras
    }

    fn note_loras(&mut self) {
        let running = self
            .running
            .values()
            .filter_map(|demand| demand.lora.as_deref());
        let waiting = self
            .waiting
            .iter()
            .filter_map(|waiter| waiter.demand.lora.as_deref());
        self.loras.note(running, waiting);
    }
}

// === impl Slot ===

impl Slot {
    /// Waits for admission; returns how many leading blocks of the prompt were cached.
    pub(crate) async fn admitted(&mut self) -> usize {
        // The sender is dropped unsent only by this slot's own drop.
        (&mut self.granted).await.unwrap_or(0)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.scheduler.leave(self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(slots: usize, waiting: usize, loras: usize) -> Arc<Scheduler> {
        Arc::new(Scheduler::new(&Config {
            max_num_seqs: slots,
            max_waiting_queue_length: waiting,
            max_loras: loras,
            kv_cache_size: 4,
            ..Config::default()
        }))
    }

    fn lora(name: &str) -> Demand {
        Demand {
            lora: Some(name.to_owned()),
            blocks: Vec::new(),
        }
    }

    fn blocks(hashes: &[u64]) -> Demand {
        Demand {
            lora: None,
            blocks: hashes.to_vec(),
        }
    }

    fn is_admitted(slot: &mut Slot) -> bool {
        slot.granted.try_recv().is_ok()
    }

    #[test]
    fn the_queue_is_first_in_first_out_and_bounded() {
        let scheduler = scheduler(1, 2, 1);
        let mut first = scheduler.enqueue(Demand::default()).unwrap();
        let mut second = scheduler.enqueue(Demand::default()).unwrap();
        let mut third = scheduler.enqueue(Demand::default()).unwrap();
        assert_eq!(
            scheduler.enqueue(Demand::default()).unwrap_err(),
            Refusal::QueueFull
        );
        assert!(is_admitted(&mut first) && !is_admitted(&mut second));
        drop(first);
        assert!(is_admitted(&mut second) && !is_admitted(&mut third));
        assert_eq!((scheduler.load().running, scheduler.load().waiting), (1, 1));
        drop((second, third));
        assert_eq!(scheduler.load(), Load::default());
    }

    #[test]
    fn no_queue_still_fills_the_slots() {
        let scheduler = scheduler(2, 0, 1);
        let _first = scheduler.enqueue(Demand::default()).unwrap();
        let _second = scheduler.enqueue(Demand::default()).unwrap();
        assert_eq!(
            scheduler.enqueue(Demand::default()).unwrap_err(),
            Refusal::QueueFull
        );
    }

    #[test]
    fn who_waits_and_leaves_frees_its_place() {
        let scheduler = scheduler(1, 1, 1);
        let first = scheduler.enqueue(Demand::default()).unwrap();
        drop(scheduler.enqueue(Demand::default()).unwrap());
        let mut third = scheduler.enqueue(Demand::default()).unwrap();
        drop(first);
        assert!(is_admitted(&mut third));
    }

    #[test]
    fn an_adapter_without_a_slot_is_passed_by() {
        let scheduler = scheduler(3, 10, 1);
        let first = scheduler.enqueue(lora("a")).unwrap();
        let mut other = scheduler.enqueue(lora("b")).unwrap();
        let mut same = scheduler.enqueue(lora("a")).unwrap();
        let mut base = scheduler.enqueue(Demand::default()).unwrap();
        assert!(!is_admitted(&mut other) && is_admitted(&mut same) && is_admitted(&mut base));
        assert_eq!(scheduler.load().deferred, 1);
        let last = scheduler.lora_sets().pop().unwrap();
        assert_eq!((&*last.running, &*last.waiting), ("a", "b"));
        drop((first, same));
        assert!(is_admitted(&mut other));
        let last = scheduler.lora_sets().pop().unwrap();
        assert_eq!((&*last.running, &*last.waiting), ("b", ""));
    }

    #[test]
    fn a_full_cache_makes_sequences_wait() {
        let scheduler = scheduler(3, 10, 1);
        let first = scheduler.enqueue(blocks(&[1, 2, 3])).unwrap();
        let mut second = scheduler.enqueue(blocks(&[4, 5])).unwrap();
        let mut third = scheduler.enqueue(blocks(&[])).unwrap();
        assert!(!is_admitted(&mut second) && !is_admitted(&mut third));
        assert_eq!(scheduler.load().kv_cache_usage, 0.75);
        drop(first);
        assert!(is_admitted(&mut second) && is_admitted(&mut third));
        let large = scheduler.enqueue(blocks(&[1, 2, 3, 4, 5]));
        assert_eq!(large.unwrap_err(), Refusal::CacheTooSmall);
    }

    #[tokio::test]
    async fn admission_tells_the_cached_blocks() {
        let scheduler = scheduler(3, 10, 1);
        let mut first = scheduler.enqueue(blocks(&[1, 2])).unwrap();
        assert_eq!(first.admitted().await, 0);
        let mut second = scheduler.enqueue(blocks(&[1, 2, 3])).unwrap();
        assert_eq!(second.admitted().await, 2);
    }
}
