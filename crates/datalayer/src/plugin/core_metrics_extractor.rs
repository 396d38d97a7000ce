//! `core-metrics-extractor`: reads load, KV cache and LoRA adapters from a metrics page.
//!
//! # What it does
//! Knows the metric names of vLLM (both generations), SGLang, TensorRT-LLM and Triton, and those that
//! are configured. The engine is the one that the endpoint's label names, else the one whose names
//! are on the page.
//!
//! # Reads
//! What `metrics-data-source` fetches. Data-parallel ranks are added up; of several
//! `lora_requests_info` series the one with the greatest value counts.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! `engineLabelKey`, `defaultEngine`, `engineConfigs`.
//!
//! # Example
//! ```yaml
//! type: core-metrics-extractor
//! parameters:
//!   defaultEngine: sglang
//! ```

use std::sync::Arc;
use std::time::Instant;

use suimon_picker::role::{self, Extract};
use suimon_picker::{BuildContext, BuildError, Endpoint, Metrics, Plugin, Roles, Stability};

use crate::extract::Extractor;
use crate::params::CoreMetricsParams;

/// See the module.
pub struct CoreMetricsExtractor(Extractor);

impl Plugin for CoreMetricsExtractor {
    const TYPE: &'static str = "core-metrics-extractor";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "reads load, KV cache and LoRA adapters from a metrics page";
    type Params = CoreMetricsParams;

    fn build(params: CoreMetricsParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        let extractor = Extractor::new(&params);
        extractor
            .map(Self)
            .map_err(|error| BuildError::Params(error.to_string()))
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.extractor(self);
    }
}

// === impl CoreMetricsExtractor ===

impl role::Extractor for CoreMetricsExtractor {
    fn extract(
        &self,
        page: &[u8],
        endpoint: &Endpoint,
        previous: &Metrics,
        now: Instant,
    ) -> Extract {
        role::Extractor::extract(&self.0, page, endpoint, previous, now)
    }

    fn families(&self, engine: &str) -> Vec<&str> {
        role::Extractor::families(&self.0, engine)
    }
}
