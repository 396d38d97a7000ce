use std::collections::HashMap as Map;

use proptest::prelude::*;

use super::*;

fn found(index: &ApproxIndex, hashes: &[BlockHash]) -> Map<Holder, u32> {
    let mut found = Map::new();
    index.matches(hashes, |holder, blocks| {
        assert!(found.insert(holder, blocks).is_none(), "each holder once");
    });
    found
}

/// The chained hashes of a path through a tree.
fn path(steps: &[u8]) -> Vec<BlockHash> {
    let mut hash = 0_u64;
    steps
        .iter()
        .map(|step| {
            hash = hash.wrapping_mul(31).wrapping_add(u64::from(*step) + 1);
            hash
        })
        .collect()
}

#[test]
fn counts_leading_blocks() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2, 3]), 100);
    index.insert(2, &path(&[1, 2]), 100);
    index.insert(3, &path(&[2, 3]), 100);
    assert_eq!(
        found(&index, &path(&[1, 2, 3, 4])),
        Map::from([(1, 3), (2, 2)])
    );
    assert_eq!(found(&index, &path(&[4])), Map::new());
    assert_eq!(found(&index, &[]), Map::new());
}

#[test]
fn forgets_what_was_used_longest_ago_ends_first() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2, 3]), 4);
    index.insert(1, &path(&[7, 8, 9]), 4);
    assert_eq!(index.held(1), 4);
    assert_eq!(found(&index, &path(&[7, 8, 9])), Map::from([(1, 3)]));
    assert_eq!(found(&index, &path(&[1, 2, 3])), Map::from([(1, 1)]));
}

#[test]
fn using_a_prefix_again_keeps_it() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2]), 4);
    index.insert(1, &path(&[3, 4]), 4);
    index.insert(1, &path(&[1, 2]), 4);
    index.insert(1, &path(&[5, 6]), 4);
    assert_eq!(found(&index, &path(&[1, 2])), Map::from([(1, 2)]));
    assert_eq!(found(&index, &path(&[3, 4])), Map::new());
}

#[test]
fn a_prompt_longer_than_the_capacity_keeps_its_start() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2, 3, 4, 5]), 3);
    assert_eq!(found(&index, &path(&[1, 2, 3, 4, 5])), Map::from([(1, 3)]));
}

#[test]
fn a_holder_that_left_leaves_nothing() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2]), 10);
    index.insert(2, &path(&[1]), 10);
    index.remove(1);
    assert_eq!(found(&index, &path(&[1, 2])), Map::from([(2, 1)]));
    index.remove(2);
    assert!(index.is_empty());
}

#[test]
fn a_lane_used_again_inherits_nothing() {
    let mut index = ApproxIndex::default();
    index.insert(1, &path(&[1, 2, 3]), 10);
    index.remove(1);
    index.insert(2, &path(&[9]), 10);
    assert_eq!(found(&index, &path(&[1, 2, 3])), Map::new());
    assert_eq!(found(&index, &path(&[9])), Map::from([(2, 1)]));
}

#[test]
fn memory_stays_bounded_under_use() {
    let mut index = ApproxIndex::default();
    for round in 0..10_000_u32 {
        let [a, b, ..] = round.to_le_bytes();
        index.insert(1, &path(&[1, 2, 3, a, b, 4, 5]), 100);
    }
    assert_eq!(index.len(), 100);
    assert_eq!(index.blocks.len(), 100);
    assert!(index.held[0].leaves.len() <= 100);
}

/// What the index is to be: a list of blocks a holder in the order of use.
#[derive(Default)]
struct Naive {
    used: Map<Holder, Vec<BlockHash>>,
}

impl Naive {
    fn insert(&mut self, holder: Holder, hashes: &[BlockHash], capacity: usize) {
        let used = self.used.entry(holder).or_default();
        for &hash in hashes.iter().take(capacity).rev() {
            used.retain(|&known| known != hash);
            used.push(hash);
        }
        let excess = used.len().saturating_sub(capacity);
        used.drain(..excess);
    }

    fn found(&self, hashes: &[BlockHash]) -> Map<Holder, u32> {
        let leading = |used: &Vec<BlockHash>| {
            u32::try_from(hashes.iter().take_while(|hash| used.contains(hash)).count()).unwrap()
        };
        let all = self
            .used
            .iter()
            .map(|(&holder, used)| (holder, leading(used)));
        all.filter(|&(_, blocks)| blocks > 0).collect()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Holder, Vec<u8>),
    Remove(Holder),
}

fn step() -> impl Strategy<Value = Step> {
    let steps = proptest::collection::vec(0_u8..3, 0..8);
    prop_oneof![
        9 => (0_u32..4, steps).prop_map(|(holder, steps)| Step::Insert(holder, steps)),
        1 => (0_u32..4).prop_map(Step::Remove),
    ]
}

proptest! {
    #[test]
    fn does_what_a_naive_list_does(
        steps in proptest::collection::vec(step(), 0..80),
        probe in proptest::collection::vec(0_u8..3, 0..10),
        capacity in 1_usize..30,
    ) {
        let (mut index, mut naive) = (ApproxIndex::default(), Naive::default());
        for step in steps {
            match step {
                Step::Insert(holder, steps) => {
                    index.insert(holder, &path(&steps), capacity);
                    naive.insert(holder, &path(&steps), capacity);
                }
                Step::Remove(holder) => {
                    index.remove(holder);
                    naive.used.remove(&holder);
                }
            }
            prop_assert_eq!(found(&index, &path(&probe)), naive.found(&path(&probe)));
        }
        for (&holder, used) in &naive.used {
            prop_assert_eq!(index.held(holder), used.len());
        }
    }

    #[test]
    fn many_holders_are_found_at_their_depths(
        paths in proptest::collection::vec(proptest::collection::vec(0_u8..2, 0..12), 0..200),
        probe in proptest::collection::vec(0_u8..2, 0..14),
    ) {
        let (mut index, mut naive) = (ApproxIndex::default(), Naive::default());
        for (holder, steps) in (0..).zip(&paths) {
            index.insert(holder, &path(steps), 1000);
            naive.insert(holder, &path(steps), 1000);
        }
        prop_assert_eq!(found(&index, &path(&probe)), naive.found(&path(&probe)));
    }
}
