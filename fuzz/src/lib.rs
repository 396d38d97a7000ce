//! Runs a fuzz target three ways: on its seeds as they are, on edited seeds, and on raw bytes.
//!
//! Random bytes alone never get past the first byte of a JSON or YAML parser, and the stable
//! toolchain has no coverage feedback. So the seeds under `corpus/<target>` are real inputs, and
//! [`Seeds::edited`] cuts, repeats, splices and overwrites them.
//!
//! `cargo test` replays the seeds and fuzzes for a second; `cargo xtask fuzz` sets the time.
//! An input that once broke something is kept as a seed.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};

/// One change of a seed: what to do, where, how far, with which byte.
pub type Edit = (u8, u32, u16, u8);

/// What the engine generates: a seed, another one to splice from, and changes.
pub type Edits = (u16, u16, [Edit; 6]);

/// The longest input that an edit may grow to, in bytes.
const LONGEST: usize = 256 * 1024;

/// Pieces that steer parsers of the formats under test, by what they mean to them.
const PIECES: [&[u8]; 32] = [
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"null",
    b"-",
    b"1e400",
    b"18446744073709551616",
    b"\"model\":",
    b"\"usage\":",
    b"data: ",
    b"data: [DONE]",
    b"\n\n",
    b"\r\n",
    b"\r",
    b"\r\n\r\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"NaN",
    b"+Inf",
    b"---\n",
    b"&a ",
    b"*a",
    b"\t",
    b"Transfer-Encoding: chunked\r\n",
];

/// Defines the three tests of a target: `fuzz_target!(sse, check);` where `check` takes the bytes.
#[macro_export]
macro_rules! fuzz_target {
    ($name:ident, $check:path) => {
        #[test]
        fn seeds() {
            for seed in $crate::Seeds::load(stringify!($name)).unwrap().all() {
                $check(seed);
            }
        }

        #[test]
        fn edited_seeds() {
            let seeds = $crate::Seeds::load(stringify!($name)).unwrap();
            bolero::check!()
                .with_type::<$crate::Edits>()
                .for_each(|edits| $check(&seeds.edited(edits)));
        }

        #[test]
        fn raw_bytes() {
            bolero::check!().for_each(|bytes: &[u8]| $check(bytes));
        }
    };
}

/// The committed inputs of one target.
pub struct Seeds {
    all: Vec<Vec<u8>>,
}

// === impl Seeds ===

impl Seeds {
    /// Reads `corpus/<target>`.
    ///
    /// # Errors
    /// If the folder cannot be read or holds nothing.
    pub fn load(target: &str) -> anyhow::Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target);
        let entries =
            fs::read_dir(&folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        // The engine names a seed by its place, so the order must not depend on the file system.
        paths.sort();
        let all = paths
            .iter()
            .map(|path| fs::read(path).with_context(|| format!("cannot read `{}`", path.display())))
            .collect::<anyhow::Result<Vec<_>>>()?;
        ensure!(!all.is_empty(), "`{}` holds no seed", folder.display());
        Ok(Self { all })
    }

    /// The seeds as they are committed.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.all.iter().map(Vec::as_slice)
    }

    /// A seed after these changes, at most 256 KiB long.
    #[must_use]
    pub fn edited(&self, edits: &Edits) -> Vec<u8> {
        let (seed, other, edits) = edits;
        let mut bytes = self.pick(*seed).to_vec();
        let other = self.pick(*other);
        for edit in edits {
            apply(&mut bytes, other, *edit);
        }
        bytes
    }

    fn pick(&self, number: u16) -> &[u8] {
        self.all
            .get(usize::from(number) % self.all.len())
            .map_or(&[], Vec::as_slice)
    }
}

fn apply(bytes: &mut Vec<u8>, other: &[u8], (what, at, length, byte): Edit) {
    let at = place(at, bytes.len());
    let end = at.saturating_add(span(length)).min(bytes.len());
    match what % 16 {
        0 | 1 => bytes
            .splice(at..at, piece(byte).iter().copied())
            .for_each(drop),
        2 => bytes.drain(at..end).for_each(drop),
        3 => bytes.truncate(at),
        4 if bytes.len() < LONGEST => {
            let again = bytes.get(at..end).unwrap_or_default().to_vec();
            bytes
                .splice(at..at, again.repeat(usize::from(byte % 64)))
                .for_each(drop);
            bytes.truncate(LONGEST);
        }
        5 => {
            let from = place(u32::from(byte).wrapping_mul(0x0101_0101), other.len());
            let until = from.saturating_add(end - at).min(other.len());
            let donated = other.get(from..until).unwrap_or_default();
            bytes
                .splice(at..end, donated.iter().copied())
                .for_each(drop);
        }
        6 | 7 => {
            if let Some(target) = bytes.get_mut(at) {
                *target = byte;
            }
        }
        // A seed with few changes gets deepest, so some edits change nothing.
        _ => {}
    }
}

fn piece(byte: u8) -> &'static [u8] {
    PIECES
        .get(usize::from(byte) % PIECES.len())
        .copied()
        .unwrap_or_default()
}

/// A place in `0..=length`.
fn place(at: u32, length: usize) -> usize {
    usize::try_from(at).map_or(0, |at| at % (length + 1))
}

/// Mostly short spans: a seed that lost half its text no longer reaches far.
fn span(length: u16) -> usize {
    let length = usize::from(length);
    if length & 1 == 0 {
        (length >> 1) % 16
    } else {
        length >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, LONGEST, Seeds};

    const NOTHING: Edit = (15, 0, 0, 0);

    fn edited(edit: Edit) -> Vec<u8> {
        let seeds = Seeds {
            all: vec![b"abcdef".to_vec(), b"123456".to_vec()],
        };
        seeds.edited(&(2, 3, [edit, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING]))
    }

    #[test]
    fn every_edit_does_what_it_says() {
        assert_eq!(edited(NOTHING), b"abcdef");
        assert_eq!(edited((0, 2, 0, 4)), b"ab{cdef");
        assert_eq!(edited((2, 1, 4, 0)), b"adef");
        assert_eq!(edited((3, 4, 0, 0)), b"abcd");
        assert_eq!(edited((4, 0, 4, 2)), b"abababcdef");
        assert_eq!(edited((5, 0, 4, 0)), b"12cdef");
        assert_eq!(edited((6, 0, 0, b'Z')), b"Zbcdef");
    }

    #[test]
    fn an_input_stays_bounded() {
        let seeds = Seeds {
            all: vec![vec![b'x'; LONGEST - 1]],
        };
        let grow = (4, 0, u16::MAX, 63);
        assert!(seeds.edited(&(0, 0, [grow; 6])).len() <= LONGEST);
    }
}
