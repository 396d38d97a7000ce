//! Index of prefixes that a holder probably has, since a request with them was sent to it.
//!
//! What a holder has is a tree: a block hangs on the one before it. A request touches one path of it
//! and only the path's end is written down; only leaves are ever forgotten, the one that was used
//! longest ago first, and then its parent counts as used when it was. So a holder's blocks never
//! have gaps, and that makes everything cheap:
//!
//! * noting a prompt costs its *new* blocks, whatever its length;
//! * the holders of a prompt's blocks are sets that only shrink with depth, so that a look-up
//!   searches for the places where they do instead of reading every block;
//! * what is forgotten is exactly the block that was used longest ago, of several the deepest.
//!
//! Memory is bounded by the sum of the capacities: about 80 bytes a pair of block and holder.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::block::{BlockHash, units_at, units_of};
use crate::lanes::{Lane, LaneSet};

/// A number that stands for whoever holds blocks; the caller's choice.
pub type Holder = u32;

/// Index of prefixes that holders probably have. Single writer; callers wrap it in a lock.
///
/// Hashes must be chained: a hash stands for one block after one certain prefix.
#[derive(Debug, Default)]
pub struct ApproxIndex {
    blocks: HashMap<BlockHash, LaneSet>,
    lanes: HashMap<Holder, Lane>,
    /// By lane; lanes of holders that left are empty and free.
    held: Vec<Tree>,
    free: Vec<Lane>,
}

/// Counts uses at one holder.
type Stamp = u64;

/// What one holder has.
#[derive(Debug, Default)]
struct Tree {
    holder: Holder,
    nodes: HashMap<BlockHash, Node>,
    /// Leaves by their last use. A use touches one path, so no two leaves share a stamp.
    leaves: BTreeMap<Stamp, BlockHash>,
    clock: Stamp,
    /// Units of all nodes together.
    units: usize,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: Option<BlockHash>,
    children: u32,
    units: u32,
    /// Last use of the node itself, or of children that were forgotten since.
    used: Stamp,
}

// === impl ApproxIndex ===

impl ApproxIndex {
    /// Notes that `holder` has seen the prefix `hashes`. It keeps the blocks that were used last, of
    /// at most `capacity` units.
    ///
    /// Beyond 65,536 holders at once nothing is noted.
    pub fn insert(&mut self, holder: Holder, hashes: &[BlockHash], capacity: usize) {
        let fitting = hashes.len().min(capacity);
        let fitting = (0..fitting)
            .rev()
            .find(|&last| units_of(last + 1) <= capacity);
        let hashes = hashes
            .get(..fitting.map_or(0, |last| last + 1))
            .unwrap_or(hashes);
        let Some(lane) = self.lane(holder) else {
            return;
        };
        let Some(tree) = self.held.get_mut(usize::from(lane)) else {
            return;
        };
        let known = hashes.partition_point(|hash| tree.nodes.contains_key(hash));
        tree.touch(hashes, known);
        for &hash in hashes.get(known..).unwrap_or_default() {
            self.blocks.entry(hash).or_default().insert(lane);
        }
        while tree.units > capacity {
            let Some(hash) = tree.forget_one() else { break };
            forget(&mut self.blocks, hash, lane);
        }
    }

    /// For each holder of a leading part of `hashes`, calls `found` with the number of leading
    /// blocks that it holds.
    pub fn matches(&self, hashes: &[BlockHash], mut found: impl FnMut(Holder, u32)) {
        let depth = hashes.partition_point(|hash| self.blocks.contains_key(hash));
        let Some(last) = depth.checked_sub(1) else {
            return;
        };
        let (Some(first_set), Some(last_set)) = (self.at(hashes, 0), self.at(hashes, last)) else {
            return;
        };
        let mut found = |lane: Lane, blocks: usize| {
            if let Some(tree) = self.held.get(usize::from(lane)) {
                found(tree.holder, u32::try_from(blocks).unwrap_or(u32::MAX));
            }
        };
        last_set.each(|lane| found(lane, depth));
        self.shrinking(hashes, (0, first_set), (last, last_set), &mut found);
    }

    /// Finds where the set of holders shrinks between two blocks.
    fn shrinking(
        &self,
        hashes: &[BlockHash],
        (low, low_set): (usize, &LaneSet),
        (high, high_set): (usize, &LaneSet),
        found: &mut impl FnMut(Lane, usize),
    ) {
        if low_set.len() == high_set.len() {
            return;
        }
        if high - low <= 1 {
            return low_set.each_not_in(high_set, |lane| found(lane, low + 1));
        }
        let middle = usize::midpoint(low, high);
        let Some(middle_set) = self.at(hashes, middle) else {
            return;
        };
        self.shrinking(hashes, (low, low_set), (middle, middle_set), found);
        self.shrinking(hashes, (middle, middle_set), (high, high_set), found);
    }

    fn at(&self, hashes: &[BlockHash], index: usize) -> Option<&LaneSet> {
        hashes.get(index).and_then(|hash| self.blocks.get(hash))
    }

    /// Forgets all blocks of one holder.
    pub fn remove(&mut self, holder: Holder) {
        let Some(lane) = self.lanes.remove(&holder) else {
            return;
        };
        let Some(tree) = self.held.get_mut(usize::from(lane)) else {
            return;
        };
        for hash in std::mem::take(tree).nodes.into_keys() {
            forget(&mut self.blocks, hash, lane);
        }
        self.free.push(lane);
        if self.blocks.capacity() > self.blocks.len().saturating_mul(4).saturating_add(1024) {
            self.blocks.shrink_to_fit();
        }
    }

    /// Units of the blocks that one holder holds.
    #[must_use]
    pub fn held(&self, holder: Holder) -> usize {
        let tree = self
            .lanes
            .get(&holder)
            .and_then(|&lane| self.held.get(usize::from(lane)));
        tree.map_or(0, |tree| tree.units)
    }

    /// Whether the index has, or had, blocks of this holder.
    #[must_use]
    pub fn knows(&self, holder: Holder) -> bool {
        self.lanes.contains_key(&holder)
    }

    /// Holders that the index knows.
    pub fn holders(&self) -> impl Iterator<Item = Holder> {
        self.lanes.keys().copied()
    }

    /// Pairs of block and holder.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held.iter().map(|tree| tree.nodes.len()).sum()
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
                self.held.push(Tree::default());
                lane
            }
        };
        self.lanes.insert(holder, lane);
        self.held.get_mut(usize::from(lane))?.holder = holder;
        Some(lane)
    }
}

// === impl Tree ===

impl Tree {
    /// Marks the path `hashes` as used, of which the first `known` nodes are there.
    fn touch(&mut self, hashes: &[BlockHash], known: usize) {
        let Some(&end) = hashes.last() else { return };
        self.clock += 1;
        let mut parent = known
            .checked_sub(1)
            .and_then(|last| hashes.get(last))
            .copied();
        let new = hashes.get(known..).unwrap_or_default();
        if let (Some(parent), false) = (parent, new.is_empty()) {
            self.hang_on(parent);
        }
        for (index, &hash) in (known..).zip(new) {
            let children = u32::from(hash != end);
            let units = units_at(index);
            self.units += units;
            let node = Node {
                parent,
                children,
                units: u32::try_from(units).unwrap_or(u32::MAX),
                used: self.clock,
            };
            self.nodes.insert(hash, node);
            parent = Some(hash);
        }
        if let Some(node) = self.nodes.get_mut(&end) {
            let before = std::mem::replace(&mut node.used, self.clock);
            if node.children == 0 {
                self.leaves.remove(&before);
                self.leaves.insert(self.clock, end);
            }
        }
    }

    /// A node gets a child: it is no leaf any more.
    fn hang_on(&mut self, parent: BlockHash) {
        if let Some(node) = self.nodes.get_mut(&parent) {
            if node.children == 0 {
                self.leaves.remove(&node.used);
            }
            node.children += 1;
        }
    }

    /// Forgets the leaf that was used longest ago.
    fn forget_one(&mut self) -> Option<BlockHash> {
        let (used, hash) = self.leaves.pop_first()?;
        let node = self.nodes.remove(&hash)?;
        self.units = self.units.saturating_sub(node.units as usize);
        let parent = node.parent;
        if let Some((parent, node)) = parent.and_then(|p| Some((p, self.nodes.get_mut(&p)?))) {
            node.children = node.children.saturating_sub(1);
            node.used = node.used.max(used);
            if node.children == 0 {
                self.leaves.insert(node.used, parent);
            }
        }
        Some(hash)
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
