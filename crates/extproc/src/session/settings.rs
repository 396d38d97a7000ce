//! What the operator may choose.

use std::sync::Arc;

use suimon_llm::Budget;
use suimon_picker::Unreadable;

/// Settings of all sessions of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Longest body of a request, in bytes. Of a response as many are held to put a name back.
    pub body_limit: usize,
    /// Bytes of requests that may be in memory together.
    pub budget: Arc<Budget>,
    /// Whether responses are read.
    pub reading: Reading,
    /// How many endpoints the proxy is told.
    pub destinations: Destinations,
    /// What becomes of a request whose body cannot be read, where its model is not needed.
    pub unreadable: Unreadable,
    /// Whether the proxy may say which endpoints come into question.
    pub subsets: bool,
}

/// Whether responses are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reading {
    /// Usage is read, names of models are put back, and a request counts as in flight until its
    /// response has ended.
    #[default]
    Read,
    /// The stream ends with the answer to the request, if its body leaves in one piece: otherwise
    /// an early response could be lost on its way here. A request then counts as in flight only
    /// until it was answered. Costs the proxy the least.
    Skip,
}

/// How many endpoints the proxy is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Destinations {
    /// Those that the picker of the configuration chose, mostly one: a cluster of the type
    /// `ORIGINAL_DST` takes no list.
    #[default]
    Chosen,
    /// Those, and further ones in case they cannot be reached: for gateways that walk the list.
    All,
}

/// Longest body of a request by default, in bytes.
const BODY_LIMIT: usize = 32 << 20;

/// Bytes of requests that may be in memory together by default.
const BUDGET: usize = 1 << 30;

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: BODY_LIMIT,
            budget: Arc::new(Budget::new(BUDGET)),
            reading: Reading::default(),
            destinations: Destinations::default(),
            unreadable: Unreadable::Pass,
            subsets: true,
        }
    }
}
