//! Sets of lanes: small numbers that stand for holders inside one index.

use smallvec::SmallVec;

/// A small number that stands for a holder; used again once its holder has left.
pub(crate) type Lane = u16;

/// Lanes that hold one block. Most blocks are held once, those of a common system prompt by all:
/// a short list becomes a bit map when it grows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaneSet {
    /// In no order.
    List(SmallVec<[Lane; 8]>),
    /// One bit a lane.
    Bits(Bits),
}

/// One bit a lane, with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

/// Longest list.
const LIST_MAX: usize = 16;

// === impl LaneSet ===

impl LaneSet {
    pub(crate) fn insert(&mut self, lane: Lane) {
        match self {
            Self::List(list) if list.contains(&lane) => {}
            Self::List(list) if list.len() < LIST_MAX => list.push(lane),
            Self::List(list) => {
                let mut bits = Bits::default();
                list.iter().for_each(|&lane| bits.insert(lane));
                bits.insert(lane);
                *self = Self::Bits(bits);
            }
            Self::Bits(bits) => bits.insert(lane),
        }
    }

    pub(crate) fn remove(&mut self, lane: Lane) {
        match self {
            Self::List(list) => list.retain(|known| *known != lane),
            Self::Bits(bits) => {
                bits.remove(lane);
                if bits.len <= LIST_MAX / 2 {
                    *self = Self::List(bits.iter().collect());
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Bits(bits) => bits.len,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Calls `each` with every lane.
    pub(crate) fn each(&self, each: impl FnMut(Lane)) {
        match self {
            Self::List(list) => list.iter().copied().for_each(each),
            Self::Bits(bits) => bits.iter().for_each(each),
        }
    }

    /// Calls `each` with every lane that is not in `other`.
    pub(crate) fn each_not_in(&self, other: &Self, mut each: impl FnMut(Lane)) {
        self.each(|lane| {
            if !other.contains(lane) {
                each(lane);
            }
        });
    }

    fn contains(&self, lane: Lane) -> bool {
        match self {
            Self::List(list) => list.contains(&lane),
            Self::Bits(bits) => bits.contains(lane),
        }
    }
}

impl Default for LaneSet {
    fn default() -> Self {
        Self::List(SmallVec::new())
    }
}

// === impl Bits ===

impl Bits {
    fn insert(&mut self, lane: Lane) {
        let index = usize::from(lane) / 64;
        if self.words.len() <= index {
            self.words.resize(index + 1, 0);
        }
        if let Some(word) = self.words.get_mut(index) {
            self.len += usize::from(*word & bit(lane) == 0);
            *word |= bit(lane);
        }
    }

    fn remove(&mut self, lane: Lane) {
        if let Some(word) = self.words.get_mut(usize::from(lane) / 64) {
            self.len -= usize::from(*word & bit(lane) != 0);
            *word &= !bit(lane);
        }
    }

    fn contains(&self, lane: Lane) -> bool {
        self.words
            .get(usize::from(lane) / 64)
            .is_some_and(|word| word & bit(lane) != 0)
    }

    fn iter(&self) -> impl Iterator<Item = Lane> {
        (0..)
            .step_by(64)
            .zip(&self.words)
            .flat_map(|(first, &word): (u32, _)| {
                let mut left = word;
                std::iter::from_fn(move || {
                    let next = left.trailing_zeros();
                    left &= left.checked_sub(1)?;
                    Lane::try_from(first + next).ok()
                })
            })
    }
}

const fn bit(lane: Lane) -> u64 {
    1 << (lane % 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(set: &LaneSet) -> BTreeSet<Lane> {
        let mut all = BTreeSet::new();
        set.each(|lane| assert!(all.insert(lane), "each lane once"));
        all
    }

    proptest! {
        #[test]
        fn a_lane_set_is_a_set(
            steps in proptest::collection::vec((any::<bool>(), 0_u16..200), 0..200),
            other in proptest::collection::btree_set(0_u16..200, 0..60),
        ) {
            let (mut set, mut naive) = (LaneSet::default(), BTreeSet::new());
            for (add, lane) in steps {
                if add {
                    set.insert(lane);
                    naive.insert(lane);
                } else {
                    set.remove(lane);
                    naive.remove(&lane);
                }
                prop_assert_eq!(set.len(), naive.len());
            }
            prop_assert_eq!(all(&set), naive.clone());
            let mut other_set = LaneSet::default();
            other.iter().for_each(|&lane| other_set.insert(lane));
            let mut missing = BTreeSet::new();
            set.each_not_in(&other_set, |lane| {
                missing.insert(lane);
            });
            prop_assert_eq!(missing, &naive - &other);
        }
    }
}
