//! Plugins that do IO.

pub mod core_metrics_extractor;
pub mod file_discovery;
pub mod metrics_data_source;
