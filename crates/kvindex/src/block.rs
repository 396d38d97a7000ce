//! Chained hashes of prompt blocks.
//!
//! A block's hash covers its own content and the hash before it, so equal hashes mean equal
//! prefixes. Blocks are hashed alone with xxh3 and then mixed into the chain by one 64×64 → 128 bit
//! multiplication: the processor hashes several blocks at once instead of waiting for each before
//! the next, which a chain by seed would force. xxh3 runs without a seed, since with one it derives
//! a secret anew for each block; what keeps hashes of one process apart from those of another is in
//! the start of the chain.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Hash of a prefix that ends with a certain block.
pub type BlockHash = u64;

/// Hashes prompts into blocks. The first blocks of a prompt are one unit long, later ones longer: see
/// [`units_at`].
#[derive(Debug, Clone, Copy)]
pub struct Hasher {
    /// Bytes in one unit of text; a token counts as four.
    unit_bytes: usize,
    /// Most units of one prompt; what comes after is not hashed.
    max_units: usize,
}

/// What a prefix depends on beside its text, folded into the first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain(u64);

// === impl Chain ===

impl Chain {
    /// The start of a chain: prompts share a prefix only for the same model and the same salt.
    /// `secret` makes hashes differ from process to process, so that no client can foresee them.
    #[must_use]
    pub fn start(model: &str, salt: &str, secret: u64) -> Self {
        let model_hash = xxh3_64_with_seed(model.as_bytes(), secret);
        Self(xxh3_64_with_seed(salt.as_bytes(), model_hash))
    }
}

// === impl Hasher ===

impl Hasher {
    /// A hasher of blocks that are multiples of `unit_tokens` tokens, four bytes each, of at most
    /// `max_units` units a prompt.
    ///
    /// A unit of no tokens cannot be: it counts as one token.
    #[must_use]
    pub const fn new(unit_tokens: usize, max_units: usize) -> Self {
        let unit_bytes = if unit_tokens == 0 {
            4
        } else {
            unit_tokens.saturating_mul(4)
        };
        Self {
            unit_bytes,
            max_units,
        }
    }

    /// Appends the hashes of one prompt, given as pieces of text that belong together, to `hashes`.
    ///
    /// The last block may be shorter than the others; it matches only a prompt that ends alike.
    pub fn text<'a>(
        &self,
        chain: Chain,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        hashes: &mut Vec<BlockHash>,
    ) {
        let mut run = Run::new(self, chain, hashes);
        // Holds a block that begins in one piece and ends in a later one.
        let mut partial: Vec<u8> = Vec::new();
        for mut piece in pieces {
            while let Some(size) = run.next_size() {
                if partial.len() + piece.len() < size {
                    partial.extend_from_slice(piece);
                    break;
                }
                let (block, rest) = piece.split_at(size - partial.len());
                if partial.is_empty() {
                    run.block(block);
                } else {
                    partial.extend_from_slice(block);
                    run.block(&partial);
                    partial.clear();
                }
                piece = rest;
            }
        }
        if !partial.is_empty() && run.next_size().is_some() {
            run.block(&partial);
        }
    }

    /// Appends the hashes of one prompt, given as token ids, to `hashes`.
    pub fn tokens(&self, chain: Chain, tokens: &[u32], hashes: &mut Vec<BlockHash>) {
        let mut run = Run::new(self, chain, hashes);
        let (mut bytes, mut left) = (Vec::new(), tokens);
        while let Some(size) = run.next_size().filter(|_| !left.is_empty()) {
            let (block, rest) = left.split_at(left.len().min(size / 4));
            bytes.clear();
            bytes.extend(block.iter().flat_map(|token| token.to_le_bytes()));
            run.block(&bytes);
            left = rest;
        }
    }

    /// Blocks that the first `units` units of a prompt make, the last one perhaps in part.
    const fn blocks_of(units: usize) -> usize {
        if units <= SHORT {
            return units;
        }
        SHORT.saturating_add((units - SHORT).div_ceil(LONG))
    }
}

/// Blocks of a prompt that are one unit long; each one behind them is [`LONG`] units long. Where a
/// prompt is long already, a finer grain would cost memory and time and tell little more.
const SHORT: usize = 64;

/// Units of one of the longer blocks.
const LONG: usize = 4;

/// Units of the block at `index` in its prompt.
#[must_use]
pub const fn units_at(index: usize) -> usize {
    if index < SHORT { 1 } else { LONG }
}

/// Units of the first `blocks` blocks of a prompt.
#[must_use]
pub const fn units_of(blocks: usize) -> usize {
    if blocks <= SHORT {
        return blocks;
    }
    SHORT + (blocks - SHORT) * LONG
}

/// Bytes that are hashed at once: up to here xxh3 needs no set-up.
const PIECE: usize = 128;

struct Run<'a> {
    unit_bytes: usize,
    previous: u64,
    index: usize,
    max_blocks: usize,
    hashes: &'a mut Vec<BlockHash>,
}

// === impl Run ===

impl<'a> Run<'a> {
    fn new(hasher: &Hasher, chain: Chain, hashes: &'a mut Vec<BlockHash>) -> Self {
        let (unit_bytes, max_blocks) = (hasher.unit_bytes, Hasher::blocks_of(hasher.max_units));
        Self {
            unit_bytes,
            previous: chain.0,
            index: 0,
            max_blocks,
            hashes,
        }
    }

    /// Bytes of the next block; `None` once the prompt has as many blocks as it may.
    fn next_size(&self) -> Option<usize> {
        (self.index < self.max_blocks).then(|| self.unit_bytes.saturating_mul(units_at(self.index)))
    }

    fn block(&mut self, block: &[u8]) {
        self.index += 1;
        let pieces = block.chunks(PIECE).map(xxh3_64);
        self.previous = pieces.fold(self.previous, mix);
        self.hashes.push(self.previous);
    }
}

/// Folds a block's own hash into the chain. The odd constants keep zero from swallowing the rest.
const fn mix(previous: u64, block: u64) -> u64 {
    let left = (previous ^ 0x9e37_79b9_7f4a_7c15) as u128;
    let right = (block ^ 0xbf58_476d_1ce4_e5b9) as u128;
    let product = left * right;
    let folded = (product as u64) ^ ((product >> 64) as u64);
    folded ^ block.rotate_left(23) ^ previous.rotate_left(41)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hashes(hasher: Hasher, chain: Chain, text: &[u8]) -> Vec<BlockHash> {
        let mut out = Vec::new();
        hasher.text(chain, [text], &mut out);
        out
    }

    fn small() -> Hasher {
        Hasher::new(4, 1000)
    }

    #[test]
    fn different_prompts_share_nothing() {
        let chain = Chain::start("m", "", 7);
        assert_ne!(
            hashes(small(), chain, b"hello"),
            hashes(small(), chain, b"goodbye")
        );
        let (mut one, mut other) = (vec![b'x'; 160], vec![b'x'; 160]);
        (one[0], other[0]) = (b'a', b'b');
        let (one, other) = (hashes(small(), chain, &one), hashes(small(), chain, &other));
        assert!(
            one.iter().all(|hash| !other.contains(hash)),
            "they differ in byte 0"
        );
    }

    #[test]
    fn models_and_salts_are_apart() {
        let text = [b'x'; 64];
        let chains = [("m", ""), ("n", ""), ("m", "t1"), ("m", "t2")];
        let all: Vec<_> = chains
            .iter()
            .flat_map(|(model, salt)| hashes(small(), Chain::start(model, salt, 7), &text))
            .collect();
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
    }

    #[test]
    fn equal_blocks_in_a_row_have_different_hashes() {
        let all = hashes(small(), Chain::start("m", "", 7), &[0; 16 * 50]);
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), 50);
    }

    #[test]
    fn an_empty_prompt_has_no_blocks() {
        assert!(hashes(small(), Chain::start("m", "", 7), b"").is_empty());
    }

    #[test]
    fn blocks_get_longer_behind_the_first() {
        let prompt = vec![1; 16 * (SHORT + 3 * LONG)];
        assert_eq!(
            hashes(small(), Chain::start("m", "", 7), &prompt).len(),
            SHORT + 3
        );
        assert_eq!(units_of(SHORT + 3), SHORT + 3 * LONG);
        let whole: usize = (0..SHORT + 3).map(units_at).sum();
        assert_eq!(whole, units_of(SHORT + 3));
    }

    #[test]
    fn no_more_blocks_than_allowed() {
        let hasher = Hasher::new(4, 3);
        assert_eq!(
            hashes(hasher, Chain::start("m", "", 7), &[1; 1000]).len(),
            3
        );
        let mut out = Vec::new();
        hasher.tokens(Chain::start("m", "", 7), &[1; 1000], &mut out);
        assert_eq!(out.len(), 3);
    }

    proptest! {
        #[test]
        fn a_longer_prompt_begins_with_the_blocks_of_the_shorter(
            text in proptest::collection::vec(any::<u8>(), 0..2400), cut in 0_usize..2400
        ) {
            let cut = cut.min(text.len());
            let chain = Chain::start("m", "", 7);
            let (short, long) = (hashes(small(), chain, &text[..cut]), hashes(small(), chain, &text));
            let full = (0..).take_while(|&n| units_of(n + 1) * 16 <= cut).count();
            prop_assert_eq!(&short[..full], &long[..full]);
        }

        #[test]
        fn pieces_hash_like_the_whole(
            text in proptest::collection::vec(any::<u8>(), 0..2400),
            cuts in proptest::collection::vec(0_usize..2400, 0..5)
        ) {
            let chain = Chain::start("m", "", 7);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]);
            let mut out = Vec::new();
            small().text(chain, pieces, &mut out);
            prop_assert_eq!(out, hashes(small(), chain, &text));
        }

        #[test]
        fn tokens_hash_like_their_bytes(tokens in proptest::collection::vec(any::<u32>(), 0..600)) {
            let chain = Chain::start("m", "", 7);
            let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
            let mut out = Vec::new();
            small().tokens(chain, &tokens, &mut out);
            prop_assert_eq!(out, hashes(small(), chain, &bytes));
        }
    }
}
