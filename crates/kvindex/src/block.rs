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

/// Hashes prompts into blocks of a fixed size.
#[derive(Debug, Clone, Copy)]
pub struct Hasher {
    /// Bytes in one block of text; a token counts as four.
    block_bytes: usize,
    /// Most blocks of one prompt; what comes after is not hashed.
    max_blocks: usize,
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
    /// A hasher of blocks of `block_tokens` tokens, four bytes each, at most `max_blocks` a prompt.
    ///
    /// A block of no tokens cannot be: it counts as one token.
    #[must_use]
    pub const fn new(block_tokens: usize, max_blocks: usize) -> Self {
        let block_bytes = if block_tokens == 0 {
            4
        } else {
            block_tokens.saturating_mul(4)
        };
        Self {
            block_bytes,
            max_blocks,
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
        let mut run = Run {
            previous: chain.0,
            left: self.max_blocks,
            hashes,
        };
        // Holds a block that begins in one piece and ends in a later one.
        let mut partial: Vec<u8> = Vec::new();
        for mut piece in pieces {
            if !partial.is_empty() {
                let take = (self.block_bytes - partial.len()).min(piece.len());
                let (head, rest) = piece.split_at(take);
                partial.extend_from_slice(head);
                piece = rest;
                if partial.len() < self.block_bytes {
                    continue;
                }
                run.block(&partial);
                partial.clear();
            }
            let mut blocks = piece.chunks_exact(self.block_bytes);
            for block in &mut blocks {
                if !run.block(block) {
                    return;
                }
            }
            partial.extend_from_slice(blocks.remainder());
        }
        if !partial.is_empty() {
            run.block(&partial);
        }
    }

    /// Appends the hashes of one prompt, given as token ids, to `hashes`.
    pub fn tokens(&self, chain: Chain, tokens: &[u32], hashes: &mut Vec<BlockHash>) {
        let mut run = Run {
            previous: chain.0,
            left: self.max_blocks,
            hashes,
        };
        let mut bytes = Vec::with_capacity(self.block_bytes.min(tokens.len().saturating_mul(4)));
        for block in tokens.chunks((self.block_bytes / 4).max(1)) {
            bytes.clear();
            bytes.extend(block.iter().flat_map(|token| token.to_le_bytes()));
            if !run.block(&bytes) {
                return;
            }
        }
    }
}

/// Bytes that are hashed at once: up to here xxh3 needs no set-up.
const PIECE: usize = 128;

struct Run<'a> {
    previous: u64,
    left: usize,
    hashes: &'a mut Vec<BlockHash>,
}

// === impl Run ===

impl Run<'_> {
    /// Adds one block; `false` once the prompt has as many as it may.
    fn block(&mut self, block: &[u8]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let pieces = block.chunks(PIECE).map(xxh3_64);
        self.previous = pieces.fold(self.previous, mix);
        self.hashes.push(self.previous);
        true
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
        Hasher::new(4, 100)
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
            text in proptest::collection::vec(any::<u8>(), 0..400), cut in 0_usize..400
        ) {
            let cut = cut.min(text.len());
            let chain = Chain::start("m", "", 7);
            let (short, long) = (hashes(small(), chain, &text[..cut]), hashes(small(), chain, &text));
            let full = cut / 16;
            prop_assert_eq!(&short[..full], &long[..full]);
        }

        #[test]
        fn pieces_hash_like_the_whole(
            text in proptest::collection::vec(any::<u8>(), 0..400),
            cuts in proptest::collection::vec(0_usize..400, 0..5)
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
        fn tokens_hash_like_their_bytes(tokens in proptest::collection::vec(any::<u32>(), 0..100)) {
            let chain = Chain::start("m", "", 7);
            let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
            let mut out = Vec::new();
            small().tokens(chain, &tokens, &mut out);
            prop_assert_eq!(out, hashes(small(), chain, &bytes));
        }
    }
}
