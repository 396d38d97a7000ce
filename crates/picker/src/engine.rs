//! A built configuration: what a pick runs through.

use std::sync::Arc;

use suimon_llm::ApiKind;

use crate::attribute::UncachedTokens;
use crate::columns::{Columns, Key, States};
use crate::effective::Effective;
use crate::graph::Graph;
use crate::role::{
    Discovery, Extractor, PreRequest, Producer, ProfileHandler, SaturationDetector, Source,
};
use crate::schedule::Profile;

/// A built configuration. Immutable and shared; pools with the same configuration still have one
/// each, since plugins keep state.
pub struct Engine {
    pub(crate) profiles: Vec<Profile>,
    pub(crate) handler: Arc<dyn ProfileHandler>,
    pub(crate) detector: Arc<dyn SaturationDetector>,
    pub(crate) producers: Vec<Arc<dyn Producer>>,
    pub(crate) pre_request: Vec<Arc<dyn PreRequest>>,
    pub(crate) parsers: Parsers,
    pub(crate) uncached: Option<Key<UncachedTokens>>,
    pub(crate) graph: Graph,
    /// Where the endpoints' figures come from.
    pub sources: Vec<Feed>,
    /// Finds the endpoints in place of the pool's selector.
    pub discovery: Option<Arc<dyn Discovery>>,
    /// The configuration with all that was implied.
    pub effective: Effective,
}

/// What a profile runs.
#[derive(Debug, Clone)]
pub struct Outline {
    /// Name of the profile.
    pub name: Arc<str>,
    /// Filters in order.
    pub filters: Vec<Arc<str>>,
    /// Scorers with their weights.
    pub scorers: Vec<(Arc<str>, f64)>,
    /// The picker.
    pub picker: Arc<str>,
}

/// A source with the extractors that read what it fetches, in order.
pub type Feed = (Arc<dyn Source>, Vec<Arc<dyn Extractor>>);

/// Which APIs a pool reads.
#[derive(Debug, Default)]
pub(crate) struct Parsers {
    pub(crate) claimed: Vec<ApiKind>,
    /// A parser that claims nothing takes what is left, unread.
    pub(crate) fallback: bool,
}

// === impl Engine ===

impl Engine {
    /// Empty columns and states for one pick.
    pub(crate) fn storage(&self) -> (Columns, States) {
        self.graph.storage()
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("profiles", &self.profiles)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// What each profile runs, for display.
    #[must_use]
    pub fn outline(&self) -> Vec<Outline> {
        let outline = |profile: &Profile| Outline {
            name: Arc::clone(&profile.name),
            filters: profile
                .filters
                .iter()
                .map(|(name, _)| Arc::clone(name))
                .collect(),
            scorers: profile
                .scorers
                .iter()
                .map(|s| (Arc::clone(&s.name), s.weight))
                .collect(),
            picker: Arc::clone(&profile.picker.0),
        };
        self.profiles.iter().map(outline).collect()
    }
}

// === impl Parsers ===

impl Parsers {
    /// How a request to `path` is read; `None`: no parser takes it.
    pub(crate) fn kind(&self, path: &str) -> Option<ApiKind> {
        let kind = ApiKind::from_path(path);
        if self.claimed.contains(&kind) {
            Some(kind)
        } else {
            self.fallback.then_some(ApiKind::Opaque)
        }
    }
}
