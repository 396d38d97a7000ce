//! Reads a response that is a stream of events.

use std::borrow::Cow;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};

use super::rename::{Places, Renaming};
use crate::sse::{Event, Piece, SseScanner};
use crate::usage::{Counts, Usage};

/// Reads a response that is a stream of events.
#[derive(Debug)]
pub(super) struct EventReader {
    scanner: SseScanner,
    seen: Seen,
    renaming: Option<Renaming>,
}

/// What the events said so far.
#[derive(Debug)]
struct Seen {
    counts: Counts,
    usage: Usage,
    count: u64,
}

// === impl EventReader ===

impl EventReader {
    pub(super) fn new(counts: Counts, renaming: Option<Renaming>) -> Self {
        Self {
            scanner: SseScanner::new(),
            seen: Seen {
                counts,
                usage: Usage::default(),
                count: 0,
            },
            renaming,
        }
    }

    pub(super) fn push(&mut self, chunk: Bytes) -> Bytes {
        let Self {
            scanner,
            seen,
            renaming,
        } = self;
        let Some(renaming) = renaming else {
            scanner.push(&chunk, |piece| seen.read(piece));
            return chunk;
        };
        let nothing_held = scanner.held() == 0;
        let mut out = BytesMut::with_capacity(scanner.held() + chunk.len());
        let mut changed = false;
        scanner.push(&chunk, |piece| {
            changed |= seen.rename(piece, renaming, &mut out);
        });
        if nothing_held && !changed && scanner.held() == 0 {
            return chunk;
        }
        out.freeze()
    }

    pub(super) fn finish(&mut self) -> Bytes {
        let Self {
            scanner,
            seen,
            renaming,
        } = self;
        let mut out = BytesMut::new();
        match renaming {
            None => scanner.finish(|piece| seen.read(piece)),
            Some(renaming) => scanner.finish(|piece| {
                seen.rename(piece, renaming, &mut out);
            }),
        }
        out.freeze()
    }

    pub(super) const fn usage(&self) -> Usage {
        self.seen.usage
    }

    pub(super) const fn count(&self) -> u64 {
        self.seen.count
    }

    pub(super) fn held(&self) -> usize {
        self.scanner.held()
    }
}

// === impl Seen ===

impl Seen {
    fn read(&mut self, piece: Piece<'_>) {
        if let Piece::Event(event) = piece {
            self.data(&joined(event, &event.data()));
        }
    }

    /// Reads `piece` and appends it to `out`; whether it was changed.
    fn rename(&mut self, piece: Piece<'_>, renaming: &Renaming, out: &mut BytesMut) -> bool {
        let event = match piece {
            Piece::Event(event) => event,
            Piece::Raw(bytes) => {
                out.put_slice(bytes);
                return false;
            }
        };
        let lines = event.data();
        let data = joined(event, &lines);
        self.data(&data);
        let places = renaming.places(&data);
        let places: Places = places
            .iter()
            .filter_map(|place| unjoined(place, &lines))
            .collect();
        renaming.write(event.raw(), &places, out);
        !places.is_empty()
    }

    fn data(&mut self, data: &[u8]) {
        if data.is_empty() || data.trim_ascii() == b"[DONE]" {
            return;
        }
        self.count += 1;
        if let Some(usage) = Usage::from_document(data, self.counts) {
            self.usage.merge(usage);
        }
    }
}

/// The data of an event: its lines, joined by line feeds.
fn joined<'a>(event: Event<'a>, lines: &[Range<usize>]) -> Cow<'a, [u8]> {
    match lines {
        [] => Cow::Borrowed(&[]),
        [line] => Cow::Borrowed(&event.raw()[line.clone()]),
        lines => {
            let lines: Vec<_> = lines.iter().map(|at| &event.raw()[at.clone()]).collect();
            Cow::Owned(lines.join(&b'\n'))
        }
    }
}

/// The place in the event of a place in its data. A string never goes over two lines.
fn unjoined(place: &Range<usize>, lines: &[Range<usize>]) -> Option<Range<usize>> {
    let mut start = 0;
    for line in lines {
        let end = start + line.len();
        if place.start >= start && place.end <= end {
            let shift = |at: usize| at - start + line.start;
            return Some(shift(place.start)..shift(place.end));
        }
        start = end + 1;
    }
    None
}
