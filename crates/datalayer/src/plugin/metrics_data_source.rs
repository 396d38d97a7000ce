//! `metrics-data-source`: reads the metrics page of each endpoint.
//!
//! # What it does
//! Fetches `/metrics` of every endpoint of the pool, by default each 50 ms while requests come and
//! once a second while none do.
//!
//! # Reads
//! `scheme://endpoint/path`. Of vLLM only the series that are needed, where the server can filter.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `scheme`, `path`, `port`, `insecureSkipVerify`, `caCertPath`, `clientCertPath`, `clientKeyPath`,
//! `interval`, `adaptive`.
//!
//! # Example
//! ```yaml
//! type: metrics-data-source
//! parameters:
//!   path: /metrics
//!   interval: 100ms
//! ```

use std::sync::Arc;

use suimon_picker::role::{Extractor, Source, Watching};
use suimon_picker::{BuildContext, BuildError, Endpoint, Plugin, Roles, Stability};

use crate::params::MetricsSourceParams;
use crate::scrape::{Scraper, SourceConfig, WatchHandle};

/// See the module.
pub struct MetricsDataSource {
    params: MetricsSourceParams,
    /// Absent in a mere check, where nothing is fetched.
    scraper: Option<Arc<Scraper>>,
}

impl Plugin for MetricsDataSource {
    const TYPE: &'static str = "metrics-data-source";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads the metrics page of each endpoint";
    type Params = MetricsSourceParams;

    fn build(params: MetricsSourceParams, cx: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        let extractor = Arc::new(crate::extract::Extractor::default());
        SourceConfig::new(&params, extractor)
            .map_err(|error| BuildError::Params(error.to_string()))?;
        Ok(Self {
            params,
            scraper: cx.resource::<Scraper>(),
        })
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.source(self);
    }
}

// === impl MetricsDataSource ===

impl Source for MetricsDataSource {
    fn watch(
        &self,
        endpoints: &[Arc<Endpoint>],
        extractors: &[Arc<dyn Extractor>],
    ) -> Box<dyn Watching> {
        let Some(scraper) = &self.scraper else {
            return Box::new(Handles(Vec::new()));
        };
        let watch = |extractor: &Arc<dyn Extractor>| {
            let config = SourceConfig::new(&self.params, Arc::clone(extractor));
            config.map(|config| scraper.watch(endpoints, config))
        };
        let watched: Result<Vec<_>, _> = extractors.iter().map(watch).collect();
        Box::new(Handles(watched.unwrap_or_else(|error| {
            // The parameters were checked; only a certificate file can have gone since.
            tracing::error!(%error, "metrics are not read");
            Vec::new()
        })))
    }
}

struct Handles(Vec<WatchHandle>);

impl Watching for Handles {
    fn add(&self, endpoints: &[Arc<Endpoint>]) {
        self.0.iter().for_each(|handle| handle.add(endpoints));
    }

    fn pending(&self) -> usize {
        self.0.iter().map(WatchHandle::pending).sum()
    }
}
