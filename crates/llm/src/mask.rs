//! Bit masks of 64 bytes of JSON at a time: which bytes lie in strings, which shape the document.
//!
//! Text that is full of escapes makes byte-wise or `memchr`-driven scanners stop at each of them.
//! The masks make the cost of a block independent of what it holds. Bit `i` stands for byte `i`.

/// Bytes in a block.
pub(crate) const BLOCK: usize = 64;

/// What is carried from one block to the next.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Carry {
    /// 1 if the next block's first byte is escaped.
    escaped: u64,
    /// All ones if the next block starts inside a string.
    string: u64,
}

/// The bytes of one block that shape the document. None of them lies inside a string.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Shape {
    /// Opening and closing braces and brackets.
    pub(crate) brackets: u64,
    /// Commas, colons and the quotes that open strings.
    pub(crate) separators: u64,
}

/// After so many blocks of a string without a quote, [`memchr::memchr`] looks for the next quote. It
/// is faster than blocks in plain text, and slower where quotes are frequent.
const QUIET_BLOCKS: u32 = 2;

// === impl Carry ===

impl Carry {
    /// Whether a string is open.
    fn in_string(self) -> bool {
        self.string != 0
    }

    /// Reads blocks of `text`, passing those that lie in one string from end to end, up to the first
    /// that does not. Gives what was passed, in bytes, and the shape of the block behind it; `None`
    /// when `text` ends before.
    #[inline]
    pub(crate) fn read(&mut self, text: &[u8]) -> (usize, Option<Shape>) {
        // Beside the loop below nothing may touch the memory of each block.
        let mut carry = *self;
        let (mut at, mut quiet) = (0, 0);
        let read = loop {
            let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk) else {
                break carry.read_last(text.get(at..).unwrap_or_default());
            };
            let written = simd::equal(block, b'"');
            let quotes = written & !carry.escapes(simd::equal(block, b'\\'));
            if quotes != 0 || !carry.in_string() {
                break Some(carry.shape(block, quotes));
            }
            at += BLOCK;
            quiet = if written == 0 { quiet + 1 } else { 0 };
            if quiet == QUIET_BLOCKS {
                quiet = 0;
                let rest = text.get(at..).unwrap_or_default();
                let plain = memchr::memchr(b'"', rest).unwrap_or(rest.len());
                carry.skip(rest.get(..plain).unwrap_or_default());
                at += plain;
            }
        };
        *self = carry;
        (at, read)
    }

    /// The block that the end of a document makes with blanks behind it.
    #[cold]
    fn read_last(&mut self, rest: &[u8]) -> Option<Shape> {
        if rest.is_empty() {
            return None;
        }
        let mut block = [b' '; BLOCK];
        block
            .iter_mut()
            .zip(rest)
            .for_each(|(to, from)| *to = *from);
        let quotes = simd::equal(&block, b'"') & !self.escapes(simd::equal(&block, b'\\'));
        Some(self.shape(&block, quotes))
    }

    /// The shape of a block with these quotes that open or close a string.
    #[inline]
    fn shape(&mut self, block: &[u8; BLOCK], quotes: u64) -> Shape {
        // From an opening quote up to, not including, its closing quote.
        let strings = prefix_xor(quotes) ^ self.string;
        self.string = 0_u64.wrapping_sub(strings >> 63);
        // Braces and brackets of one direction differ in one bit only.
        let brackets = simd::either(block, 0x20, b'{', b'}');
        let separators = simd::either(block, 0, b',', b':');
        Shape {
            brackets: brackets & !strings,
            separators: (separators & !strings) | (quotes & strings),
        }
    }

    /// Goes on at the end of `skipped`, bytes of an open string without any quote.
    fn skip(&mut self, skipped: &[u8]) {
        let run = skipped.iter().rev().take_while(|byte| **byte == b'\\');
        let run = run.count();
        let before = if run == skipped.len() {
            self.escaped
        } else {
            0
        };
        self.escaped = (run as u64 ^ before) & 1;
    }

    /// The bytes that a backslash escapes: those behind a run of an odd number of backslashes.
    #[inline]
    fn escapes(&mut self, backslashes: u64) -> u64 {
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        const EVEN: u64 = 0x5555_5555_5555_5555;
        let backslashes = backslashes & !self.escaped;
        let follows = (backslashes << 1) | self.escaped;
        let odd_starts = backslashes & !EVEN & !follows;
        // The addition runs a carry through each run that starts at an odd bit.
        let (even_runs, overflow) = odd_starts.overflowing_add(backslashes);
        self.escaped = u64::from(overflow);
        (EVEN ^ (even_runs << 1)) & follows
    }
}

/// Bit `i` of the result is the parity of bits `0..=i`.
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod simd {
    use safe_arch::{cmp_eq_mask_i8_m128i, load_unaligned_m128i, m128i, move_mask_i8_m128i};

    use super::BLOCK;

    /// Bit `i` is set if byte `i` is `byte`.
    #[inline]
    pub(super) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
        let byte = m128i::from([byte; 16]);
        mask(block, |row| cmp_eq_mask_i8_m128i(row, byte))
    }

    /// Bit `i` is set if byte `i`, with the bits of `fold` added, is `a` or `b`.
    #[inline]
    pub(super) fn either(block: &[u8; BLOCK], fold: u8, a: u8, b: u8) -> u64 {
        let [fold, a, b] = [fold, a, b].map(|byte| m128i::from([byte; 16]));
        mask(block, |row| {
            let row = row | fold;
            cmp_eq_mask_i8_m128i(row, a) | cmp_eq_mask_i8_m128i(row, b)
        })
    }

    #[inline]
    fn mask(block: &[u8; BLOCK], test: impl Fn(m128i) -> m128i) -> u64 {
        let (rows, _) = block.as_chunks::<16>();
        rows.iter().enumerate().fold(0, |mask, (i, row)| {
            let bits = move_mask_i8_m128i(test(load_unaligned_m128i(row)));
            mask | (u64::from(bits.cast_unsigned()) << (16 * i))
        })
    }
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
mod simd {
    use super::BLOCK;

    /// Bit `i` is set if byte `i` is `byte`.
    pub(super) fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
        mask(block, |each| each == byte)
    }

    /// Bit `i` is set if byte `i`, with the bits of `fold` added, is `a` or `b`.
    pub(super) fn either(block: &[u8; BLOCK], fold: u8, a: u8, b: u8) -> u64 {
        mask(block, |each| each | fold == a || each | fold == b)
    }

    fn mask(block: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
        block
            .iter()
            .enumerate()
            .fold(0, |mask, (i, byte)| mask | (u64::from(test(*byte)) << i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same facts, one byte after another.
    fn plain(text: &[u8]) -> Vec<(u64, u64)> {
        let (mut string, mut escaped) = (false, false);
        text.chunks(BLOCK)
            .map(|block| {
                let (mut brackets, mut separators) = (0, 0);
                for (i, byte) in block.iter().enumerate() {
                    let quote = *byte == b'"' && !escaped;
                    escaped = *byte == b'\\' && !escaped;
                    match *byte {
                        _ if quote => {
                            string = !string;
                            separators |= u64::from(string) << i;
                        }
                        b'{' | b'}' | b'[' | b']' if !string => brackets |= 1 << i,
                        b',' | b':' if !string => separators |= 1 << i,
                        _ => {}
                    }
                }
                (brackets, separators)
            })
            .collect()
    }

    /// Shapes of all blocks, passed ones included; blocks start anew where a long string was passed.
    fn masks(text: &[u8]) -> Vec<(u64, u64)> {
        let (mut carry, mut at) = (Carry::default(), 0);
        let mut masks = Vec::new();
        while let (passed, Some(shape)) = carry.read(&text[at..]) {
            masks.resize(masks.len() + passed / BLOCK, (0, 0));
            masks.push((shape.brackets, shape.separators));
            at += passed + BLOCK;
        }
        masks.resize(text.len() / BLOCK, (0, 0));
        masks
    }

    #[test]
    fn agrees_with_a_plain_walk() {
        // A small generator keeps this test free of dependencies and the same in each run.
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..2000 {
            let mut text = vec![0; BLOCK * 4];
            let (mut string, mut escaped) = (false, false);
            for byte in &mut text {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = b"\\\\\\\"\"{}[],:az\n;Z"[(seed >> 60) as usize];
                // No backslash outside strings: what that does is not specified.
                string ^= *byte == b'"' && !escaped;
                if *byte == b'\\' && !string {
                    *byte = b'x';
                }
                escaped = *byte == b'\\' && !escaped;
            }
            assert_eq!(
                masks(&text),
                plain(&text),
                "{:?}",
                String::from_utf8_lossy(&text)
            );
        }
    }
}
