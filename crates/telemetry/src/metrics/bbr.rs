//! Series of body-based routing.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::{ResultLabel, own, page, register};

/// Prefix of the names that the peer has.
const PREFIX: &str = "bbr";

/// The field that is looked for.
const MODEL: FieldLabel = FieldLabel { field: "model" };

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FieldLabel {
    field: &'static str,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

/// The series of `suimon bbr` and the registry behind its `/metrics`.
#[derive(Debug)]
pub struct BbrMetrics {
    registry: Registry,
    /// Requests whose model went into the headers.
    pub success: Counter,
    /// Bodies that could not be read.
    pub unreadable: Counter,
    not_found: Family<FieldLabel, Counter>,
    empty: Family<FieldLabel, Counter>,
    refused: Family<ReasonLabel, Counter>,
    reloads: Family<ResultLabel, Counter>,
}

// === impl BbrMetrics ===

impl BbrMetrics {
    /// All series, registered.
    #[must_use]
    pub fn new(version: &'static str) -> Self {
        let mut registry = Registry::default();
        let info = Info::new(vec![("version", version)]);
        registry.register(PREFIX, "what runs here", info);
        Self {
            success: peer(
                &mut registry,
                "success",
                "requests whose model went into headers",
            ),
            not_found: peer(
                &mut registry,
                "body_field_not_found",
                "bodies without the field",
            ),
            empty: peer(
                &mut registry,
                "body_field_empty",
                "bodies whose field is empty",
            ),
            unreadable: own(
                &mut registry,
                "bbr_unreadable",
                "bodies that could not be read, or whose model is no name",
            ),
            refused: own(
                &mut registry,
                "bbr_refused",
                "requests refused, by the code of the error",
            ),
            reloads: own(
                &mut registry,
                "config_reloads",
                "LoRA maps taken and refused",
            ),
            registry,
        }
    }

    /// Counts a body without a model.
    pub fn not_found(&self) {
        self.not_found.get_or_create(&MODEL).inc();
    }

    /// Counts a body whose model is empty.
    pub fn empty(&self) {
        self.empty.get_or_create(&MODEL).inc();
    }

    /// Counts a request that was refused with `reason`, the code of the error.
    pub fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&ReasonLabel { reason }).inc();
    }

    /// Counts a map that was taken, or refused.
    pub fn reloaded(&self, taken: bool) {
        let result = if taken { "ok" } else { "refused" };
        self.reloads.get_or_create(&ResultLabel { result }).inc();
    }

    /// The page, in the OpenMetrics text format.
    #[must_use]
    pub fn page(&self) -> String {
        page(&self.registry)
    }

    /// Makes all series show.
    pub(super) fn touch(&self) {
        self.not_found();
        self.empty();
        self.refused("");
        self.reloaded(true);
    }
}

fn peer<M: Default + Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    register(registry, PREFIX, name, help, M::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_peer() {
        let metrics = BbrMetrics::new("1");
        metrics.success.inc();
        metrics.not_found();
        metrics.empty();
        metrics.refused("model-missing");
        let page = metrics.page();
        for line in [
            "bbr_info{version=\"1\"} 1",
            "bbr_success_total 1",
            "bbr_body_field_not_found_total{field=\"model\"} 1",
            "bbr_body_field_empty_total{field=\"model\"} 1",
            "suimon_bbr_refused_total{reason=\"model-missing\"} 1",
        ] {
            assert!(page.lines().any(|have| have == line), "{line}\n{page}");
        }
    }
}
