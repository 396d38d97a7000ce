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

/// One bit a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
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
                if bits.len() <= LIST_MAX / 2 {
                    *self = Self::List(bits.iter().collect());
                }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }

    /// Makes `target` the lanes of this set.
    pub(crate) fn copy_to(&self, target: &mut Bits) {
        target.words.clear();
        match self {
            Self::List(list) => list.iter().for_each(|&lane| target.insert(lane)),
            Self::Bits(bits) => target.words.extend_from_slice(&bits.words),
        }
    }

    /// Takes from `alive` the lanes that are not in this set and hands each to `lost`.
    pub(crate) fn restrict(&self, alive: &mut Bits, mut lost: impl FnMut(Lane)) {
        for (index, word) in alive.words.iter_mut().enumerate() {
            if *word == 0 {
                continue;
            }
            let kept = *word & self.word(index);
            let mut gone = *word & !kept;
            *word = kept;
            while gone != 0 {
                lost(lane(index, gone.trailing_zeros()));
                gone &= gone - 1;
            }
        }
    }

    fn word(&self, index: usize) -> u64 {
        match self {
            Self::Bits(bits) => bits.words.get(index).copied().unwrap_or(0),
            Self::List(list) => list
                .iter()
                .filter(|&&lane| usize::from(lane) / 64 == index)
                .fold(0, |word, &lane| word | 1 << (lane % 64)),
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
            *word |= 1 << (lane % 64);
        }
    }

    fn remove(&mut self, lane: Lane) {
        if let Some(word) = self.words.get_mut(usize::from(lane) / 64) {
            *word &= !(1 << (lane % 64));
        }
    }

    fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Lane> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            (0..64)
                .filter(move |bit| word & (1 << bit) != 0)
                .map(move |bit| lane(index, bit))
        })
    }
}

/// The lane of a bit. Lanes fit: the bit was set for one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a word's index is that of a 16-bit lane"
)]
const fn lane(index: usize, bit: u32) -> Lane {
    (index as u32 * 64 + bit) as Lane
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_lane_set_is_a_set(
            steps in proptest::collection::vec((any::<bool>(), 0_u16..200), 0..200),
            other in proptest::collection::btree_set(0_u16..200, 0..60),
        ) {
            let (mut set, mut naive) = (LaneSet::default(), BTreeSet::new());
            for (add, lane) in steps {
                if add { set.insert(lane); naive.insert(lane); } else { set.remove(lane); naive.remove(&lane); }
                prop_assert_eq!(set.is_empty(), naive.is_empty());
            }
            let mut all = Bits::default();
            set.copy_to(&mut all);
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>(), naive.clone());
            let mut alive = Bits::default();
            other.iter().for_each(|&lane| alive.insert(lane));
            let mut lost = BTreeSet::new();
            set.restrict(&mut alive, |lane| { lost.insert(lane); });
            prop_assert_eq!(alive.iter().collect::<BTreeSet<_>>(), &other & &naive);
            prop_assert_eq!(lost, &other - &naive);
        }
    }
}
