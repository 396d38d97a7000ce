//! Keeps the picker's view of model servers fresh: scraping, discovery.
//!
//! A metrics page goes from [`scrape`] through [`prom`] and [`extract`], which reads it by the names
//! of [`engine_names`], into the endpoint's metrics. [`discovery`] tells which endpoints there are.

#![forbid(unsafe_code)]

use suimon_picker::Descriptor;

pub mod discovery;
pub mod engine_names;
pub mod error;
pub mod extract;
pub mod interval;
pub mod metric_spec;
pub mod params;
pub mod plugin;
pub mod prom;
pub mod scrape;
pub mod tls;

/// Every plugin of this crate, sorted by name.
pub static CATALOGUE: &[Descriptor] = &[
    Descriptor::of::<plugin::core_metrics_extractor::CoreMetricsExtractor>(),
    Descriptor::of::<plugin::file_discovery::FileDiscovery>(),
    Descriptor::of::<plugin::metrics_data_source::MetricsDataSource>(),
];
