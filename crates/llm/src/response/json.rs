//! Reads a response that is one JSON document.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::DEFAULT_HOLD_LIMIT;
use super::rename::Renaming;
use crate::usage::{Counts, Usage};

/// Of a document up to this length all is kept, by reference, until its end.
const WHOLE: usize = 1024 * 1024;

/// Of a longer one this much of its end. Usage stands in its last bytes, or in its first ones.
const TAIL: usize = 64 * 1024;

/// Reads a response that is one JSON document.
#[derive(Debug)]
pub(super) struct JsonReader {
    /// While it is there, chunks are held back.
    renaming: Option<Renaming>,
    counts: Counts,
    limit: usize,
    chunks: VecDeque<Bytes>,
    len: usize,
    /// Whether the start of the document is gone.
    cut: bool,
    usage: Usage,
}

// === impl JsonReader ===

impl JsonReader {
    pub(super) fn new(counts: Counts, renaming: Option<Renaming>) -> Self {
        Self {
            renaming,
            counts,
            limit: DEFAULT_HOLD_LIMIT,
            chunks: VecDeque::new(),
            len: 0,
            cut: false,
            usage: Usage::default(),
        }
    }

    pub(super) const fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub(super) fn push(&mut self, chunk: Bytes) -> Bytes {
        self.len += chunk.len();
        self.chunks.push_back(chunk.clone());
        if self.renaming.is_none() {
            self.trim();
            return chunk;
        }
        if self.len <= self.limit {
            return Bytes::new();
        }
        self.renaming = None;
        let all = self.join();
        self.chunks.clear();
        self.chunks.push_back(all.clone());
        self.trim();
        all
    }

    pub(super) fn finish(&mut self) -> Bytes {
        let kept = self.join();
        self.chunks.clear();
        self.len = 0;
        let usage = if self.cut {
            Usage::from_tail(&kept, self.counts)
        } else {
            // It mostly stands near the end, which saves reading the rest.
            Usage::from_tail(&kept, self.counts)
                .or_else(|| Usage::from_document(&kept, self.counts))
        };
        self.usage.merge(usage.unwrap_or_default());
        match self.renaming.take() {
            Some(renaming) => renaming.apply(kept),
            None => Bytes::new(),
        }
    }

    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    pub(super) const fn held(&self) -> usize {
        self.len
    }

    /// Keeps the whole of a short document, the end of a long one.
    fn trim(&mut self) {
        if !self.cut {
            if self.len <= WHOLE {
                return;
            }
            self.cut = true;
            let head = Usage::from_document(&self.join(), self.counts);
            self.usage.merge(head.unwrap_or_default());
        }
        while let Some(front) = self.chunks.front() {
            let rest = self.len - front.len();
            if rest < TAIL {
                break;
            }
            self.len = rest;
            self.chunks.pop_front();
        }
        // A large chunk would be kept in memory whole for the sake of its end.
        if let [chunk] = self.chunks.make_contiguous()
            && chunk.len() > TAIL
        {
            *chunk = Bytes::copy_from_slice(&chunk[chunk.len() - TAIL..]);
            self.len = TAIL;
        }
    }

    fn join(&self) -> Bytes {
        if let (Some(only), 1) = (self.chunks.front(), self.chunks.len()) {
            return only.clone();
        }
        let mut all = BytesMut::with_capacity(self.len);
        for chunk in &self.chunks {
            all.extend_from_slice(chunk);
        }
        all.freeze()
    }
}
