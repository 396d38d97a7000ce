//! Blocks of prompt tokens that a replica holds.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Reference-counted blocks with least-recently-used eviction of those that no sequence uses.
#[derive(Debug)]
pub(crate) struct KvCache {
    capacity: usize,
    blocks: HashMap<u64, Block>,
    /// Unused blocks, oldest first: release tick to block hash.
    idle: BTreeMap<u64, u64>,
    /// Counts releases; orders `idle`.
    tick: u64,
    /// Blocks with at least one user.
    used: usize,
}

#[derive(Debug)]
struct Block {
    users: u32,
    /// Key in `idle`; meaningful while `users` is 0.
    idle_since: u64,
}

/// Hashes of the full blocks of a prompt. A hash covers all tokens up to the end of its block, the
/// model and the cache salt, so equal hashes mean equal prefixes of one model.
pub(crate) fn block_hashes(model: &str, salt: &str, tokens: &[u32], block_size: usize) -> Vec<u64> {
    let mut hash = fnv1a(FNV_OFFSET, model.as_bytes());
    hash = fnv1a(hash, &[0]);
    hash = fnv1a(hash, salt.as_bytes());
    tokens
        .chunks_exact(block_size.max(1))
        .map(|block| {
            hash = block
                .iter()
                .fold(hash, |hash, token| fnv1a(hash, &token.to_le_bytes()));
            hash
        })
        .collect()
}

// === impl KvCache ===

impl KvCache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            blocks: HashMap::new(),
            idle: BTreeMap::new(),
            tick: 0,
            used: 0,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Share of the capacity that running sequences use; cached but unused blocks do not count.
    pub(crate) fn usage(&self) -> f64 {
        if self.capacity == 0 {
            0.0
        } else {
            self.used as f64 / self.capacity as f64
        }
    }

    /// Takes `hashes` into use and returns how many leading ones were present, or `None`, with
    /// nothing changed, when they do not fit beside the blocks in use.
    pub(crate) fn acquire(&mut self, hashes: &[u64]) -> Option<usize> {
        let hits = hashes
            .iter()
            .take_while(|hash| self.blocks.contains_key(*hash))
            .count();
        let demand = hashes.iter().filter(|hash| !self.is_used(**hash)).count();
        if self.used + demand > self.capacity {
            return None;
        }
        // Present blocks first: making room for the others must not evict them.
        let missing: Vec<u64> = hashes
            .iter()
            .copied()
            .filter(|hash| !self.revive(*hash))
            .collect();
        for hash in missing {
            self.insert(hash);
        }
        Some(hits)
    }

    /// Gives back what [`Self::acquire`] took.
    pub(crate) fn release(&mut self, hashes: &[u64]) {
        // From the end: the tail of a prefix is of use to fewer prompts, so it is evicted first.
        for hash in hashes.iter().rev() {
            let Some(block) = self.blocks.get_mut(hash) else {
                continue;
            };
            block.users = block.users.saturating_sub(1);
            if block.users == 0 {
                self.tick += 1;
                block.idle_since = self.tick;
                self.idle.insert(self.tick, *hash);
                self.used -= 1;
            }
        }
    }

    fn is_used(&self, hash: u64) -> bool {
        self.blocks.get(&hash).is_some_and(|block| block.users > 0)
    }

    fn revive(&mut self, hash: u64) -> bool {
        let Some(block) = self.blocks.get_mut(&hash) else {
            return false;
        };
        if block.users == 0 {
            self.idle.remove(&block.idle_since);
            self.used += 1;
        }
        block.users += 1;
        true
    }

    fn insert(&mut self, hash: u64) {
        if self.blocks.len() >= self.capacity
            && let Some((_, oldest)) = self.idle.pop_first()
        {
            self.blocks.remove(&oldest);
        }
        match self.blocks.entry(hash) {
            Entry::Occupied(mut entry) => entry.get_mut().users += 1,
            Entry::Vacant(entry) => {
                entry.insert(Block {
                    users: 1,
                    idle_since: 0,
                });
                self.used += 1;
            }
        }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv1a(start: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// The same rules on plain lists, in order of release.
    struct Naive {
        capacity: usize,
        used: Vec<u64>,
        idle: Vec<u64>,
    }

    impl Naive {
        fn acquire(&mut self, hashes: &[u64]) -> Option<usize> {
            let present = |hash: &u64| self.used.contains(hash) || self.idle.contains(hash);
            let hits = hashes.iter().take_while(|hash| present(hash)).count();
            let mut in_use: Vec<u64> = self.used.clone();
            in_use.extend(hashes);
            in_use.sort_unstable();
            in_use.dedup();
            if in_use.len() > self.capacity {
                return None;
            }
            self.idle.retain(|hash| !hashes.contains(hash));
            self.used.extend(hashes);
            let spare = self.capacity - in_use.len();
            if self.idle.len() > spare {
                self.idle.drain(..self.idle.len() - spare);
            }
            Some(hits)
        }

        fn release(&mut self, hashes: &[u64]) {
            for hash in hashes.iter().rev() {
                let at = self.used.iter().position(|used| used == hash).unwrap();
                self.used.remove(at);
                if !self.used.contains(hash) {
                    self.idle.push(*hash);
                }
            }
        }
    }

    #[test]
    fn equals_the_naive_cache() {
        let mut rng = StdRng::seed_from_u64(11);
        let mut cache = KvCache::new(12);
        let mut naive = Naive {
            capacity: 12,
            used: Vec::new(),
            idle: Vec::new(),
        };
        let mut held: Vec<Vec<u64>> = Vec::new();
        for step in 0..20_000 {
            if held.len() < 4 && rng.random_bool(0.6) {
                let (family, len) = (rng.random_range(0..5u32), rng.random_range(1..8));
                let tokens: Vec<u32> = (0..len).map(|at| family * 10 + at / 3).collect();
                let hashes = block_hashes("m", "", &tokens, 1);
                let hits = cache.acquire(&hashes);
                assert_eq!(hits, naive.acquire(&hashes), "step {step}");
                if hits.is_some() {
                    held.push(hashes);
                }
            } else if !held.is_empty() {
                let hashes = held.swap_remove(rng.random_range(0..held.len()));
                cache.release(&hashes);
                naive.release(&hashes);
            }
            let mut distinct = naive.used.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(cache.used, distinct.len(), "step {step}");
            assert!(cache.blocks.len() <= 12);
        }
    }

    #[test]
    fn models_and_salts_do_not_share_blocks() {
        let tokens: Vec<u32> = (0..40).collect();
        let base = block_hashes("base", "", &tokens, 16);
        assert_eq!(base.len(), 2);
        assert_ne!(base, block_hashes("adapter", "", &tokens, 16));
        assert_ne!(base, block_hashes("base", "tenant", &tokens, 16));
        assert_eq!(base[..1], block_hashes("base", "", &tokens[..20], 16)[..]);
    }

    #[test]
    fn blocks_in_use_are_never_evicted() {
        let mut cache = KvCache::new(3);
        assert_eq!(cache.acquire(&[1, 2]), Some(0));
        assert_eq!(cache.acquire(&[3, 4]), None);
        assert_eq!(cache.usage(), 2.0 / 3.0);
        cache.release(&[1, 2]);
        assert_eq!(cache.usage(), 0.0);
        assert_eq!(cache.acquire(&[3, 4]), Some(0));
        // The tail of the first prompt made room, its head is still there.
        assert_eq!(cache.acquire(&[1]), Some(1));
    }
}
