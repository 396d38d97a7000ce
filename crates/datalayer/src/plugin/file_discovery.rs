//! `file-discovery`: takes the endpoints of a pool from a file.
//!
//! # What it does
//! Reads a list of endpoints from a YAML or JSON file, and again whenever it changes with
//! `watchFile`. Bad entries are named in the log and left out; a file without a usable entry leaves
//! the last good list in force.
//!
//! # Reads
//! `endpoints: [{name, namespace, address, port, labels}]`, at most 1 MiB.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `path` (required), `watchFile`.
//!
//! # Example
//! ```yaml
//! type: file-discovery
//! parameters:
//!   path: /etc/suimon/endpoints.yaml
//!   watchFile: true
//! ```

use std::sync::Arc;

use suimon_picker::role::{Discovering, Discovery, FoundEndpoints};
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

use crate::discovery::{FileWatch, Listing, load, watch};
use crate::params::FileDiscoveryParams;

/// See the module.
pub struct FileDiscovery(FileDiscoveryParams);

impl Plugin for FileDiscovery {
    const TYPE: &'static str = "file-discovery";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "takes the endpoints of a pool from a file";
    type Params = FileDiscoveryParams;

    fn build(params: FileDiscoveryParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        if params.path.as_os_str().is_empty() {
            let why = "must name a file with a list `endpoints`".to_owned();
            return Err(BuildError::Value { field: "path", why });
        }
        Ok(Self(params))
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.discovery(self);
    }
}

// === impl FileDiscovery ===

impl Discovery for FileDiscovery {
    fn start(&self, found: FoundEndpoints) -> Result<Box<dyn Discovering>, String> {
        let path = &self.0.path;
        let wrong = |error: crate::error::DiscoveryError| format!("`{}`: {error}", path.display());
        let report = |listing: &Listing| {
            for error in &listing.errors {
                tracing::warn!(file = %path.display(), %error, "an endpoint is left out");
            }
        };
        if !self.0.watch_file {
            let listing = load(path).map_err(wrong)?;
            report(&listing);
            found(listing.endpoints);
            return Ok(Box::new(Once));
        }
        let changed = Arc::clone(&found);
        let (listing, watch) = watch(path, move |endpoints| changed(endpoints)).map_err(wrong)?;
        report(&listing);
        found(listing.endpoints);
        Ok(Box::new(Watched(watch)))
    }
}

struct Once;

impl Discovering for Once {}

struct Watched(#[expect(dead_code, reason = "watching ends when it is dropped")] FileWatch);

impl Discovering for Watched {}
