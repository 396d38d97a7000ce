//! Bounded label values.
//!
//! Model names and fairness ids come from clients. A set admits the first `limit` distinct values
//! and folds later ones into [`OTHER`], so that no client can grow the registry for ever. Names that
//! the configuration mentions are pinned and never fold.

use std::sync::Arc;

use hashbrown::HashMap;

use parking_lot::RwLock;

/// The value that stands for all that did not fit.
pub const OTHER: &str = "other";

/// Longest label value, in bytes; longer ones are cut at a character border.
pub const MAX_LEN: usize = 128;

/// Admits a bounded number of distinct strings and hands out shared copies of them.
#[derive(Debug)]
pub struct BoundedSet {
    limit: usize,
    admitted: RwLock<HashMap<Arc<str>, ()>>,
    other: Arc<str>,
    empty: Arc<str>,
}

// === impl BoundedSet ===

impl BoundedSet {
    /// A set that admits at most `limit` values beside the pinned ones.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            admitted: RwLock::new(HashMap::new()),
            other: Arc::from(OTHER),
            empty: Arc::from(""),
        }
    }

    /// Admits `value` whatever the limit: for names that the configuration mentions.
    pub fn pin(&self, value: &str) {
        self.admitted.write().insert(Arc::from(clip(value)), ());
    }

    /// The shared copy of `value`, or [`OTHER`] once the set is full. The empty string is kept.
    #[must_use]
    pub fn admit(&self, value: &str) -> Arc<str> {
        if value.is_empty() {
            return Arc::clone(&self.empty);
        }
        let value = clip(value);
        if let Some((known, ())) = self.admitted.read().get_key_value(value) {
            return Arc::clone(known);
        }
        let mut admitted = self.admitted.write();
        if admitted.len() >= self.limit {
            return Arc::clone(&self.other);
        }
        let value: Arc<str> = Arc::from(value);
        admitted.insert(Arc::clone(&value), ());
        value
    }
}

/// At most [`MAX_LEN`] bytes of `value`, cut between characters.
fn clip(value: &str) -> &str {
    let end = value.floor_char_boundary(MAX_LEN);
    value.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_what_does_not_fit() {
        let set = BoundedSet::new(2);
        assert_eq!(&*set.admit("a"), "a");
        assert_eq!(&*set.admit("b"), "b");
        assert_eq!(&*set.admit("c"), OTHER);
        assert_eq!(&*set.admit("a"), "a");
        assert_eq!(&*set.admit(""), "");
    }

    #[test]
    fn pinned_names_never_fold() {
        let set = BoundedSet::new(1);
        set.pin("configured");
        assert_eq!(&*set.admit("x"), OTHER);
        assert_eq!(&*set.admit("configured"), "configured");
    }

    #[test]
    fn cuts_long_values_between_characters() {
        let set = BoundedSet::new(10);
        for lead in 0..8 {
            let name = format!("{}{}", "a".repeat(lead), "×数😀".repeat(60));
            let admitted = set.admit(&name);
            assert!(admitted.len() <= MAX_LEN && admitted.len() > MAX_LEN - 4);
        }
    }
}
