use std::collections::HashMap as Map;

use proptest::prelude::*;

use super::*;

fn found(index: &ApproxIndex, hashes: &[BlockHash]) -> Map<Holder, u32> {
    let mut found = Map::new();
    index.matches(hashes, &mut Lookup::default(), |holder, blocks| {
        assert!(found.insert(holder, blocks).is_none(), "each holder once");
    });
    found
}

#[test]
fn counts_leading_blocks_without_a_gap() {
    let mut index = ApproxIndex::default();
    index.insert(1, &[10, 20, 30], 100);
    index.insert(2, &[10, 20], 100);
    index.insert(3, &[20, 30], 100);
    assert_eq!(
        found(&index, &[10, 20, 30, 40]),
        Map::from([(1, 3), (2, 2)])
    );
    assert_eq!(found(&index, &[40]), Map::new());
    assert_eq!(found(&index, &[]), Map::new());
}

#[test]
fn forgets_the_oldest_beyond_the_capacity() {
    let mut index = ApproxIndex::default();
    index.insert(1, &[1, 2, 3], 4);
    index.insert(1, &[7, 8, 9], 4);
    assert_eq!(index.held(1), 4);
    assert_eq!(found(&index, &[7, 8, 9]), Map::from([(1, 3)]));
    assert_eq!(
        found(&index, &[1, 2, 3]),
        Map::from([(1, 1)]),
        "ends are forgotten before starts"
    );
}

#[test]
fn using_a_prefix_again_keeps_it() {
    let mut index = ApproxIndex::default();
    index.insert(1, &[1, 2], 4);
    index.insert(1, &[3, 4], 4);
    index.insert(1, &[1, 2], 4);
    index.insert(1, &[5, 6], 4);
    assert_eq!(found(&index, &[1, 2]), Map::from([(1, 2)]));
    assert_eq!(found(&index, &[3, 4]), Map::new());
}

#[test]
fn a_holder_that_left_leaves_nothing() {
    let mut index = ApproxIndex::default();
    index.insert(1, &[1, 2], 10);
    index.insert(2, &[1], 10);
    index.remove(1);
    assert_eq!(found(&index, &[1, 2]), Map::from([(2, 1)]));
    index.remove(2);
    assert!(index.is_empty());
}

#[test]
fn memory_stays_bounded_under_repeated_use() {
    let mut index = ApproxIndex::default();
    let hashes: Vec<BlockHash> = (0..50).collect();
    for _ in 0..10_000 {
        index.insert(1, &hashes, 100);
    }
    assert_eq!(index.len(), 50);
    assert!(index.held[0].queue.len() <= 50 * 2 + 64 + 50);
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
    Insert(Holder, Vec<BlockHash>),
    Remove(Holder),
}

fn step() -> impl Strategy<Value = Step> {
    let hashes = proptest::collection::vec(0_u64..40, 0..12).prop_map(|mut hashes| {
        let mut seen = std::collections::HashSet::new();
        hashes.retain(|hash| seen.insert(*hash));
        hashes
    });
    prop_oneof![
        9 => (0_u32..4, hashes).prop_map(|(holder, hashes)| Step::Insert(holder, hashes)),
        1 => (0_u32..4).prop_map(Step::Remove),
    ]
}

proptest! {
    #[test]
    fn does_what_a_naive_list_does(
        steps in proptest::collection::vec(step(), 0..60),
        probe in proptest::collection::vec(0_u64..40, 0..10),
        capacity in 1_usize..20,
    ) {
        let (mut index, mut naive) = (ApproxIndex::default(), Naive::default());
        for step in steps {
            match step {
                Step::Insert(holder, hashes) => {
                    index.insert(holder, &hashes, capacity);
                    naive.insert(holder, &hashes, capacity);
                }
                Step::Remove(holder) => {
                    index.remove(holder);
                    naive.used.remove(&holder);
                }
            }
            prop_assert_eq!(found(&index, &probe), naive.found(&probe));
        }
        for (&holder, used) in &naive.used {
            prop_assert_eq!(index.held(holder), used.len());
        }
    }
}

#[test]
fn a_lane_used_again_inherits_nothing() {
    let mut index = ApproxIndex::default();
    index.insert(1, &[1, 2, 3], 10);
    index.remove(1);
    index.insert(2, &[9], 10);
    assert_eq!(found(&index, &[1, 2, 3]), Map::new());
    assert_eq!(found(&index, &[9]), Map::from([(2, 1)]));
}
