//! Which match comes first: Gateway API, "HTTPRouteRule" precedence.
//!
//! Regular expressions are left to the implementation there: they come after exact paths and before
//! prefixes, longer patterns first.

use std::cmp::Reverse;

use crate::table::{Hostname, PathMatch, RankedMatch};
use crate::world::Key;

/// Sorts ascending: the smallest comes first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    hostname: Reverse<(u8, usize)>,
    path: Reverse<(u8, usize)>,
    method: Reverse<bool>,
    headers: Reverse<usize>,
    query: Reverse<usize>,
    route: Age,
    rule: usize,
    condition: usize,
}

/// Older objects come first, those without a time last; then `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Age {
    undated: bool,
    created: Option<String>,
    name: String,
}

// === impl Rank ===

impl Rank {
    pub(super) fn of(found: &RankedMatch, route: &Age, rule: usize, condition: usize) -> Self {
        Self {
            hostname: Reverse(specificity(&found.hostname)),
            path: Reverse(match &found.path {
                PathMatch::Exact(path) => (2, path.len()),
                PathMatch::Regex(regex) => (1, regex.as_str().len()),
                PathMatch::Prefix(prefix) => (0, prefix.len()),
            }),
            method: Reverse(found.method.is_some()),
            headers: Reverse(found.headers.len()),
            query: Reverse(found.query.len()),
            route: route.clone(),
            rule,
            condition,
        }
    }
}

/// Greater is more specific: exact before wildcard before none, each by length.
pub(super) fn specificity(hostname: &Hostname) -> (u8, usize) {
    match hostname {
        Hostname::Exact(name) => (2, name.len()),
        Hostname::Suffix(suffix) => (1, suffix.len()),
        Hostname::Any => (0, 0),
    }
}

// === impl Age ===

impl Age {
    pub(super) fn of(created: Option<&String>, key: &Key) -> Self {
        Self {
            undated: created.is_none(),
            created: created.cloned(),
            name: key.to_string(),
        }
    }
}
