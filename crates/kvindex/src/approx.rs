//! Index of prefixes that a holder probably has, since a request with them was sent to it.
//!
//! One table from block hash to the set of holders, and for each holder the time of each block's
//! last use with a queue in that order. Using a block again pushes a new entry to the queue and
//! leaves the old one, which is skipped when it comes to the front; a queue that grows to twice its
//! capacity is swept. So use, eviction and look-up are constant time a block, and memory is bounded
//! by the sum of the capacities: about 100 bytes a pair of block and holder.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::block::BlockHash;
use crate::lanes::{Bits, Lane, LaneSet};

/// A number that stands for whoever holds blocks; the caller's choice.
pub type Holder = u32;

/// Index of prefixes that holders probably have. Single writer; callers wrap it in a lock.
#[derive(Debug, Default)]
pub struct ApproxIndex {
    blocks: HashMap<BlockHash, LaneSet>,
    lanes: HashMap<Holder, Lane>,
    /// By lane; lanes of holders that left are empty and free.
    held: Vec<Held>,
    free: Vec<Lane>,
}

/// Memory of one look-up, to be used again.
#[derive(Debug, Default)]
pub struct Lookup {
    alive: Bits,
}

/// Counts uses at one holder. It may wrap: a stamp only has to differ from the other stamps of the
/// same block that are still queued.
type Stamp = u32;

/// What one holder has.
#[derive(Debug, Default)]
struct Held {
    holder: Holder,
    last_use: HashMap<BlockHash, Stamp>,
    /// Blocks in the order of their use, the oldest first, with entries that are out of date.
    queue: VecDeque<(BlockHash, Stamp)>,
    clock: Stamp,
}

// === impl ApproxIndex ===

impl ApproxIndex {
    /// Notes that `holder` has seen the prefix `hashes`. It keeps its `capacity` last used blocks.
    ///
    /// The end of the prefix counts as used before its start, so that what is forgotten first is
    /// what hangs on nothing. Beyond 65,536 holders at once nothing is noted.
    pub fn insert(&mut self, holder: Holder, hashes: &[BlockHash], capacity: usize) {
        let Some(lane) = self.lane(holder) else {
            return;
        };
        let Some(held) = self.held.get_mut(usize::from(lane)) else {
            return;
        };
        for &hash in hashes.iter().take(capacity).rev() {
            held.clock = held.clock.wrapping_add(1);
            if held.last_use.insert(hash, held.clock).is_none() {
                self.blocks.entry(hash).or_default().insert(lane);
            }
            held.queue.push_back((hash, held.clock));
        }
        while held.last_use.len() > capacity {
            let Some((hash, stamp)) = held.queue.pop_front() else {
                break;
            };
            if held.last_use.get(&hash) == Some(&stamp) {
                held.last_use.remove(&hash);
                forget(&mut self.blocks, hash, lane);
            }
        }
        held.sweep();
    }

    /// For each holder of a leading part of `hashes`, calls `found` with the number of leading
    /// blocks that it holds without a gap.
    pub fn matches(
        &self,
        hashes: &[BlockHash],
        lookup: &mut Lookup,
        mut found: impl FnMut(Holder, u32),
    ) {
        let Some(first) = hashes.first().and_then(|hash| self.blocks.get(hash)) else {
            return;
        };
        let mut found = |lane: Lane, blocks| {
            if let Some(held) = self.held.get(usize::from(lane)) {
                found(held.holder, blocks);
            }
        };
        let alive = &mut lookup.alive;
        first.copy_to(alive);
        let mut depth = 1;
        for hash in hashes.iter().skip(1) {
            let Some(holders) = self.blocks.get(hash) else {
                break;
            };
            holders.restrict(alive, |lane| found(lane, depth));
            if alive.is_empty() {
                return;
            }
            depth += 1;
        }
        alive.iter().for_each(|lane| found(lane, depth));
    }

    /// Forgets all blocks of one holder.
    pub fn remove(&mut self, holder: Holder) {
        let Some(lane) = self.lanes.remove(&holder) else {
            return;
        };
        let Some(held) = self.held.get_mut(usize::from(lane)) else {
            return;
        };
        for hash in std::mem::take(held).last_use.into_keys() {
            forget(&mut self.blocks, hash, lane);
        }
        self.free.push(lane);
        if self.blocks.capacity() > self.blocks.len().saturating_mul(4).saturating_add(1024) {
            self.blocks.shrink_to_fit();
        }
    }

    /// Blocks that one holder holds.
    #[must_use]
    pub fn held(&self, holder: Holder) -> usize {
        let held = self
            .lanes
            .get(&holder)
            .and_then(|&lane| self.held.get(usize::from(lane)));
        held.map_or(0, |held| held.last_use.len())
    }

    /// Holders that the index knows.
    pub fn holders(&self) -> impl Iterator<Item = Holder> {
        self.lanes.keys().copied()
    }

    /// Pairs of block and holder.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.iter().map(|held| held.last_use.len()).sum()
    }

    /// Whether nothing is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    fn lane(&mut self, holder: Holder) -> Option<Lane> {
        if let Some(&lane) = self.lanes.get(&holder) {
            return Some(lane);
        }
        let lane = match self.free.pop() {
            Some(lane) => lane,
            None => {
                let lane = Lane::try_from(self.held.len()).ok()?;
                self.held.push(Held::default());
                lane
            }
        };
        self.lanes.insert(holder, lane);
        self.held.get_mut(usize::from(lane))?.holder = holder;
        Some(lane)
    }
}

// === impl Held ===

impl Held {
    /// Drops entries that are out of date once they are more than the rest.
    fn sweep(&mut self) {
        let bound = self.last_use.len().saturating_mul(2).saturating_add(64);
        if self.queue.len() > bound {
            let last_use = &self.last_use;
            self.queue
                .retain(|(hash, stamp)| last_use.get(hash) == Some(stamp));
        }
    }
}

fn forget(blocks: &mut HashMap<BlockHash, LaneSet>, hash: BlockHash, lane: Lane) {
    if let Some(holders) = blocks.get_mut(&hash) {
        holders.remove(lane);
        if holders.is_empty() {
            blocks.remove(&hash);
        }
    }
}

#[cfg(test)]
mod tests;
