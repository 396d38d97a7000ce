//! Names, help texts, buckets and labels of every series.
//!
//! Where a peer measures the same thing the name is the peer's, so that its dashboards work. Names
//! that begin with `suimon_` are our own.

mod bbr;
mod buckets;
mod catalogue;
mod pool;
mod request;

use std::fmt::Write as _;
use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::labels::BoundedSet;
pub use bbr::BbrMetrics;
pub use catalogue::Series;
pub use pool::{EndpointLabels, FloatGauge, PoolGauges, PoolLabel};
pub use request::{Ended, RequestKey, RequestSeries};

/// Prefix of the names that peers use too.
const PEER: &str = "llm_d_epp";
/// Prefix of our own names.
const OWN: &str = "suimon";

/// Distinct model names of clients that get series of their own, beside those that the configuration
/// mentions. The peers admit 1,000, but each has about 250 lines on the page.
const LABEL_VALUES: usize = 100;

/// Labels of a route's response.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabels {
    /// `namespace/name` of the route; empty: none matched.
    pub route: Arc<str>,
    /// Status of the response; 0: the client left before.
    pub status: u16,
    /// `completed`, `client-gone`, or the label of the reason.
    pub outcome: &'static str,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ResultLabel {
    /// `ok` or `refused`.
    pub result: &'static str,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct SourceLabel {
    /// Type of the source.
    pub source_type: &'static str,
}

/// The series of this process and the registry behind `/metrics`.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: request::RequestFamilies,
    /// Model names that get series of their own.
    pub models: BoundedSet,
    /// Responses by route.
    pub responses: Family<RouteLabels, Counter>,
    /// Open client connections.
    pub connections: Gauge,
    /// Tries at a further endpoint.
    pub retries: Counter,
    /// Configurations taken and refused.
    pub reloads: Family<ResultLabel, Counter>,
    /// Time of a pick.
    pub pick_duration: Histogram,
    /// Gauges of pools and their endpoints.
    pub pools: PoolGauges,
    /// Scrapes that got no page.
    pub poll_errors: Family<SourceLabel, Counter>,
    /// Pages that told no load.
    pub extract_errors: Family<SourceLabel, Counter>,
}

// === impl Metrics ===

impl Metrics {
    /// All series, registered.
    #[must_use]
    pub fn new(version: &'static str) -> Self {
        let mut registry = Registry::default();
        let requests = request::RequestFamilies::register(&mut registry);
        let info = Info::new(vec![("version", version)]);
        registry
            .sub_registry_with_prefix(OWN)
            .register("build", "what runs here", info);
        Self {
            requests,
            models: BoundedSet::new(LABEL_VALUES),
            responses: own(
                &mut registry,
                "responses",
                "responses by route, status and outcome",
            ),
            connections: own(&mut registry, "connections", "open client connections"),
            retries: own(&mut registry, "retries", "tries at a further endpoint"),
            reloads: own(
                &mut registry,
                "config_reloads",
                "configurations taken and refused",
            ),
            pick_duration: peer_histogram(
                &mut registry,
                "scheduler_e2e_duration_seconds",
                "time of a pick",
                buckets::SHORT,
            ),
            pools: PoolGauges::register(&mut registry),
            poll_errors: peer(
                &mut registry,
                "datalayer_poll_errors",
                "scrapes without a page",
            ),
            extract_errors: peer(
                &mut registry,
                "datalayer_extract_errors",
                "pages without a load figure",
            ),
            registry,
        }
    }

    /// The series of one kind of request. Keep what you get only for one request: series of a key
    /// are shared.
    #[must_use]
    pub fn request(&self, key: &RequestKey) -> Arc<RequestSeries> {
        self.requests.series(key)
    }

    /// The page, in the OpenMetrics text format.
    #[must_use]
    pub fn page(&self) -> String {
        page(&self.registry)
    }
}

fn page(registry: &Registry) -> String {
    let mut page = String::new();
    if prometheus_client::encoding::text::encode(&mut page, registry).is_err() {
        page.clear();
        let _ = writeln!(page, "# EOF");
    }
    page
}

/// Series that only show once they have a label set.
impl Metrics {
    fn touch(&self) {
        let empty: Arc<str> = Arc::from("");
        let key = RequestKey {
            model: Arc::clone(&empty),
            target_model: Arc::clone(&empty),
            priority: 0,
        };
        self.request(&key).ended(&Ended {
            error: Some(""),
            ..Ended::default()
        });
        let labels = RouteLabels {
            route: empty,
            status: 0,
            outcome: "",
        };
        self.responses.get_or_create(&labels).inc();
        self.reloads
            .get_or_create(&ResultLabel { result: "" })
            .inc();
        self.pools.touch();
        let source = SourceLabel { source_type: "" };
        self.poll_errors.get_or_create(&source).inc();
        self.extract_errors.get_or_create(&source).inc();
    }
}

fn own<M: Default + Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    register(registry, OWN, name, help, M::default())
}

fn peer<M: Default + Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    register(registry, PEER, name, help, M::default())
}

fn peer_histogram(registry: &mut Registry, name: &str, help: &str, buckets: &[f64]) -> Histogram {
    register(
        registry,
        PEER,
        name,
        help,
        Histogram::new(buckets.iter().copied()),
    )
}

fn register<M: Clone + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    prefix: &str,
    name: &str,
    help: &str,
    metric: M,
) -> M {
    registry
        .sub_registry_with_prefix(prefix)
        .register(name, help, metric.clone());
    metric
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn key(model: &str) -> RequestKey {
        RequestKey {
            model: Arc::from(model),
            target_model: Arc::from(model),
            priority: 0,
        }
    }

    #[test]
    fn a_request_shows_under_the_names_of_the_peers() {
        let metrics = Metrics::new("1");
        metrics.request(&key("m")).ended(&Ended {
            duration: Duration::from_secs(2),
            first_byte: Some(Duration::from_millis(500)),
            streamed: true,
            prompt_tokens: Some(10),
            completion_tokens: Some(4),
            ..Ended::default()
        });
        let page = metrics.page();
        for line in [
            r#"llm_d_epp_request_total{model_name="m",target_model_name="m",fairness_id="default-flow",priority="0"} 1"#,
            r#"llm_d_epp_request_input_tokens_sum{model_name="m",target_model_name="m",fairness_id="default-flow",priority="0"} 10.0"#,
            r#"llm_d_epp_request_ntpot_seconds_sum{model_name="m",target_model_name="m",fairness_id="default-flow",priority="0"} 0.5"#,
            r#"llm_d_epp_request_streaming_tpot_seconds_sum{model_name="m",target_model_name="m",fairness_id="default-flow",priority="0"} 0.5"#,
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn label_values_are_escaped() {
        let metrics = Metrics::new("1");
        metrics.request(&key("a\"b\nc")).ended(&Ended::default());
        assert!(metrics.page().contains(r#"model_name="a\"b\nc""#));
    }
}
