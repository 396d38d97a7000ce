//! What the operator may choose.

use std::sync::Arc;

use arc_swap::ArcSwap;
use suimon_llm::Budget;

use super::base_models::BaseModels;

/// Settings of all sessions of a server.
#[derive(Debug)]
pub struct Settings {
    /// Longest body that is read, in bytes.
    pub body_limit: usize,
    /// Bytes of requests that may be in memory together.
    pub budget: Arc<Budget>,
    /// Whether a body without a model is refused; otherwise it goes on without the headers.
    pub strict: bool,
    /// Base models, which may change at any time.
    pub models: Arc<ArcSwap<BaseModels>>,
}

/// Longest body by default, in bytes.
const BODY_LIMIT: usize = 32 << 20;

/// Bytes of requests that may be in memory together by default.
const BUDGET: usize = 1 << 30;

// === impl Settings ===

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_limit: BODY_LIMIT,
            budget: Arc::new(Budget::new(BUDGET)),
            strict: false,
            models: Arc::default(),
        }
    }
}
