//! Pools for tests of plugins.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use suimon_llm::InferenceRequest;
use suimon_picker::{
    BuildError, Clock as _, Columns, Endpoint, EndpointSpec, Metrics, Plugin, Request, SystemClock,
    View,
};

/// Metrics of an idle endpoint, scraped just now.
pub(crate) fn metrics() -> Scraped {
    Scraped {
        metrics: Metrics::default(),
        age: Duration::ZERO,
    }
}

/// Metrics to be.
#[derive(Debug, Clone)]
pub(crate) struct Scraped {
    metrics: Metrics,
    age: Duration,
}

impl Scraped {
    pub(crate) fn waiting(mut self, waiting: u32) -> Self {
        self.metrics.waiting = waiting;
        self
    }

    pub(crate) fn kv_usage(mut self, usage: f32) -> Self {
        self.metrics.kv_usage = usage;
        self
    }

    pub(crate) fn grace(mut self, grace: Duration) -> Self {
        self.metrics.grace = grace;
        self
    }

    pub(crate) fn age(mut self, age: Duration) -> Self {
        self.age = age;
        self
    }
}

/// Endpoints with metrics, or without for `None`.
pub(crate) struct Pool {
    endpoints: Vec<Arc<Endpoint>>,
    now: Instant,
}

impl Pool {
    pub(crate) fn of(metrics: impl IntoIterator<Item = Option<Scraped>>) -> Self {
        let now = SystemClock.now();
        let endpoint = |(port, scraped): (u16, Option<Scraped>)| {
            let endpoint = Endpoint::new(EndpointSpec {
                id: Arc::from(format!("test/{port}")),
                address: ([127, 0, 0, 1], port).into(),
                labels: BTreeMap::new(),
            });
            if let Some(Scraped { metrics, age }) = scraped {
                endpoint.begin_scrape();
                endpoint.finish_scrape(Metrics {
                    updated: now.checked_sub(age),
                    ..metrics
                });
            }
            Arc::new(endpoint)
        };
        Self {
            endpoints: (1..).zip(metrics).map(endpoint).collect(),
            now,
        }
    }

    /// Runs `test` with a view of the pool and the places of all its endpoints.
    pub(crate) fn view<T>(&self, test: impl FnOnce(&View<'_>, &[u32]) -> T) -> T {
        let (headers, columns) = (HeaderMap::new(), Columns::default());
        let inference = InferenceRequest::opaque();
        let request = Request {
            id: "test",
            headers: &headers,
            inference: &inference,
            body: &[],
            model: "m",
            priority: 0,
        };
        let load: Vec<_> = self.endpoints.iter().map(|e| e.load(self.now)).collect();
        let view = View {
            request: &request,
            endpoints: &self.endpoints,
            load: &load,
            columns: &columns,
            now: self.now,
        };
        let candidates: Vec<u32> = (0..).zip(&load).map(|(place, _)| place).collect();
        test(&view, &candidates)
    }

    /// Scores of all endpoints.
    pub(crate) fn score(&self, score: impl FnOnce(&View<'_>, &[u32], &mut [f32])) -> Vec<f32> {
        self.view(|view, candidates| {
            let mut scores = vec![0.0; candidates.len()];
            score(view, candidates, &mut scores);
            scores
        })
    }
}

/// Makes a plugin alone.
pub(crate) fn build<P: Plugin>(params: P::Params) -> Result<P, BuildError> {
    suimon_picker::plugin::build_alone(params)
}
