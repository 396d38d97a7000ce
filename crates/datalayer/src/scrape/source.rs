//! A source of metrics pages, checked and ready to use.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Uri;
use suimon_picker::endpoint::Endpoint;
use suimon_picker::role::Extractor;
use tokio_rustls::TlsConnector;

use super::activity::Activity;
use super::group::{IDLE_PERIOD, Pace};
use crate::error::SourceError;
use crate::interval;
use crate::params::{MetricsSourceParams, Scheme};
use crate::tls;

/// Where metrics pages are, how often they are read, and by what.
#[derive(Clone)]
pub struct SourceConfig {
    path: Uri,
    port: Option<u16>,
    interval: Duration,
    adaptive: bool,
    tls: Option<TlsConnector>,
    extractor: Arc<dyn Extractor>,
}

/// The path under which both forms of vLLM's page are known.
const STANDARD_PATH: &str = "/metrics";

// === impl SourceConfig ===

impl SourceConfig {
    /// Checks `params` and reads the certificates that they name.
    ///
    /// # Errors
    /// [`SourceError`] says which parameter is wrong and what it accepts.
    pub fn new(
        params: &MetricsSourceParams,
        extractor: Arc<dyn Extractor>,
    ) -> Result<Self, SourceError> {
        let bad_path = || SourceError::Path(params.path.clone());
        if !params.path.starts_with('/') {
            return Err(bad_path());
        }
        if params.port == Some(0) {
            return Err(SourceError::Port);
        }
        let tls = match params.scheme {
            Scheme::Http => None,
            Scheme::Https => Some(TlsConnector::from(Arc::new(tls::of_source(params)?))),
        };
        Ok(Self {
            path: params.path.parse().map_err(|_| bad_path())?,
            port: params.port,
            interval: interval::parse(&params.interval)?,
            adaptive: params.adaptive,
            tls,
            extractor,
        })
    }

    /// Time between two reads of one endpoint at the full rate.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Where the metrics page of `endpoint` is.
    #[must_use]
    pub fn address(&self, endpoint: &Endpoint) -> SocketAddr {
        let address = endpoint.address();
        SocketAddr::new(address.ip(), self.port.unwrap_or_else(|| address.port()))
    }

    pub(super) fn path(&self) -> &Uri {
        &self.path
    }

    pub(super) fn tls(&self) -> Option<&TlsConnector> {
        self.tls.as_ref()
    }

    pub(super) fn extractor(&self) -> &dyn Extractor {
        &*self.extractor
    }

    /// How much later than usual the next read may be, for figures that are read at `now`.
    pub(super) fn grace(&self, activity: &Activity, now: Instant) -> Duration {
        let soon = now + self.interval * 2;
        if self.adaptive && activity.will_be_idle(soon) {
            IDLE_PERIOD
        } else {
            Duration::ZERO
        }
    }

    pub(super) fn pace(&self, activity: &Arc<Activity>) -> Pace {
        Pace {
            period: self.interval,
            activity: self.adaptive.then(|| Arc::clone(activity)),
        }
    }

    /// The page that has only the families `names`. vLLM serves `/metrics` by a handler that ignores
    /// the query, and `/metrics/` by the Prometheus client's own, which honours it.
    pub(super) fn filtered_path<'n>(&self, names: impl Iterator<Item = &'n str>) -> Option<Uri> {
        if *self.path() != STANDARD_PATH {
            return None;
        }
        let mut path = format!("{STANDARD_PATH}/");
        for (place, name) in names.enumerate() {
            path.push_str(if place == 0 { "?name[]=" } else { "&name[]=" });
            path.push_str(name);
        }
        path.parse().ok()
    }
}

impl std::fmt::Debug for SourceConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceConfig")
            .field("path", &self.path)
            .field("port", &self.port)
            .field("interval", &self.interval)
            .field("adaptive", &self.adaptive)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use suimon_picker::endpoint::EndpointSpec;

    use super::*;

    fn source(params: &MetricsSourceParams) -> Result<SourceConfig, SourceError> {
        SourceConfig::new(params, Arc::new(crate::extract::Extractor::default()))
    }

    fn endpoint(address: &str) -> Endpoint {
        Endpoint::new(EndpointSpec {
            id: Arc::from("default/a"),
            address: address.parse().unwrap(),
            labels: BTreeMap::new(),
        })
    }

    #[test]
    fn the_port_is_the_endpoints_or_the_sources() {
        let own = source(&MetricsSourceParams::default()).unwrap();
        let endpoint = endpoint("[fd00::1]:8000");
        assert_eq!(own.address(&endpoint).to_string(), "[fd00::1]:8000");
        let params = MetricsSourceParams {
            port: Some(9400),
            ..MetricsSourceParams::default()
        };
        let other = source(&params).unwrap();
        assert_eq!(other.address(&endpoint).to_string(), "[fd00::1]:9400");
    }

    #[test]
    fn the_filtered_page_names_the_families() {
        let standard = source(&MetricsSourceParams::default()).unwrap();
        let path = standard
            .filtered_path(["vllm:a", "vllm:b"].into_iter())
            .unwrap();
        assert_eq!(path.to_string(), "/metrics/?name[]=vllm:a&name[]=vllm:b");
        let params = MetricsSourceParams {
            path: String::from("/other"),
            ..MetricsSourceParams::default()
        };
        assert!(
            source(&params)
                .unwrap()
                .filtered_path(["a"].into_iter())
                .is_none()
        );
    }

    #[test]
    fn refuses_paths_and_ports_that_are_none() {
        for path in ["", "metrics", "/a b"] {
            let params = MetricsSourceParams {
                path: String::from(path),
                ..MetricsSourceParams::default()
            };
            assert!(
                matches!(source(&params), Err(SourceError::Path(_))),
                "{path}"
            );
        }
        let params = MetricsSourceParams {
            port: Some(0),
            ..MetricsSourceParams::default()
        };
        assert!(matches!(source(&params), Err(SourceError::Port)));
    }

    #[test]
    fn a_client_certificate_needs_its_key() {
        let params = MetricsSourceParams {
            scheme: Scheme::Https,
            client_cert_path: Some("/absent".into()),
            ..MetricsSourceParams::default()
        };
        let error = source(&params).unwrap_err().to_string();
        assert!(error.contains("clientKeyPath"), "{error}");
    }
}
