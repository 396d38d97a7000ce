//! One endpoint's scrapes: when, which page, and what a failure means.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use http::Uri;
use suimon_picker::Metrics;
use suimon_picker::endpoint::Endpoint;
use suimon_picker::role::{Extract, Found};

use super::connection::Client;
use super::group::Place;
use super::{Shared, SourceConfig};
use crate::error::ScrapeError;

/// How the first scrape of an endpoint went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstScrape {
    /// Neither answered nor given up yet.
    Pending,
    /// A page told the load at least once.
    Ok,
    /// Three scrapes failed. The endpoint is still scraped, and is `Ok` from its first good page on.
    GivenUp,
}

/// What the rest of the process sees of an endpoint's scrapes.
#[derive(Debug)]
pub(super) struct Progress {
    endpoint: Arc<Endpoint>,
    first: AtomicU8,
}

/// One endpoint with its connection.
pub(super) struct Target {
    endpoint: Arc<Endpoint>,
    progress: Arc<Progress>,
    source: Arc<SourceConfig>,
    shared: Arc<Shared>,
    client: Client,
    page: Page,
    failures: u32,
    retry_at: Option<Instant>,
    /// The failure that was logged last.
    logged: Option<Discriminant<ScrapeError>>,
}

/// Which page is read.
enum Page {
    /// The whole page, until one told the load and with it the engine.
    Undecided,
    /// The page of the wanted families, as long as it has what the whole page had.
    Filtered { path: Uri, whole: Found },
    /// The whole page for good.
    Whole,
}

/// A scrape that takes longer has failed.
const DEADLINE: Duration = Duration::from_secs(1);

/// Scrapes of an endpoint that fails are at most this far apart.
const BACKOFF_CAP: Duration = Duration::from_secs(5);

/// After so many failures an endpoint that never answered is no longer waited for.
const GIVE_UP_AFTER: u32 = 3;

/// The engine that has a filtered page.
const FILTERING_ENGINE: &str = "vllm";

const PENDING: u8 = 0;
const ANSWERED: u8 = 1;
const GIVEN_UP: u8 = 2;

// === impl Progress ===

impl Progress {
    pub(super) fn of(endpoint: &Arc<Endpoint>) -> Arc<Self> {
        Arc::new(Self {
            endpoint: Arc::clone(endpoint),
            first: AtomicU8::new(PENDING),
        })
    }

    pub(super) fn id(&self) -> &str {
        self.endpoint.id()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.endpoint.is_gone()
    }

    /// An endpoint that went is not waited for.
    pub(super) fn is_pending(&self) -> bool {
        self.first() == FirstScrape::Pending && !self.is_gone()
    }

    pub(super) fn first(&self) -> FirstScrape {
        match self.first.load(Ordering::Relaxed) {
            ANSWERED => FirstScrape::Ok,
            GIVEN_UP => FirstScrape::GivenUp,
            _ => FirstScrape::Pending,
        }
    }
}

// === impl Target ===

impl Target {
    pub(super) fn new(
        progress: Arc<Progress>,
        source: Arc<SourceConfig>,
        shared: Arc<Shared>,
    ) -> Self {
        let endpoint = Arc::clone(&progress.endpoint);
        Self {
            client: Client::new(source.address(&endpoint), source.tls()),
            endpoint,
            progress,
            source,
            shared,
            page: Page::Undecided,
            failures: 0,
            retry_at: None,
            logged: None,
        }
    }

    /// Scrapes at once and then at each tick, until the endpoint has left its pool.
    pub(super) async fn run(mut self, place: Place) {
        while !self.endpoint.is_gone() {
            if self.retry_at.is_none_or(|at| Instant::now() >= at) {
                self.step().await;
            }
            place.tick().await;
        }
    }

    async fn step(&mut self) {
        self.shared.counters.scrapes.fetch_add(1, Ordering::Relaxed);
        self.endpoint.begin_scrape();
        let result = match tokio::time::timeout(DEADLINE, self.scrape()).await {
            Ok(result) => result,
            Err(_late) => {
                self.page.refuse_filtered();
                Err(ScrapeError::Deadline(DEADLINE))
            }
        };
        match result {
            Ok(extract) => {
                let grace = self.source.grace(&self.shared.activity, Instant::now());
                self.endpoint.finish_scrape(Metrics {
                    grace,
                    ..extract.metrics
                });
                self.succeed();
            }
            Err(error) => self.fail(&error),
        }
    }

    async fn scrape(&mut self) -> Result<Extract, ScrapeError> {
        if let Page::Filtered { path, whole } = &self.page {
            let (path, whole) = (path.clone(), *whole);
            match self.read(&path).await {
                Ok(extract) if extract.found.covers(whole) => return Ok(extract),
                Ok(_) | Err(ScrapeError::Status(_) | ScrapeError::Encoded) => {
                    tracing::debug!(endpoint = %self.endpoint.id(), "no filtered metrics page");
                    self.page.refuse_filtered();
                }
                Err(error) => return Err(error),
            }
        }
        let path = self.source.path().clone();
        let extract = self.read(&path).await?;
        if !extract.found.load() {
            return Err(ScrapeError::NoLoad);
        }
        if matches!(self.page, Page::Undecided) {
            self.page = self.next_page(&extract);
        }
        Ok(extract)
    }

    async fn read(&mut self, path: &Uri) -> Result<Extract, ScrapeError> {
        let page = self.client.get(path, &self.shared).await?;
        let extractor = self.source.extractor();
        let previous = self.endpoint.metrics();
        let extract = extractor.extract(&page, &self.endpoint, &previous, Instant::now());
        self.shared.give_buffer(page);
        Ok(extract)
    }

    /// Which page to read after a whole one that told `extract`.
    fn next_page(&self, extract: &Extract) -> Page {
        let engine = extract.metrics.engine.as_deref();
        let names = engine.filter(|name| *name == FILTERING_ENGINE);
        let names = names
            .map(|name| self.source.extractor().families(name))
            .filter(|names| !names.is_empty());
        match names.and_then(|names| self.source.filtered_path(names.into_iter())) {
            Some(path) => Page::Filtered {
                path,
                whole: extract.found,
            },
            None => Page::Whole,
        }
    }

    fn succeed(&mut self) {
        self.failures = 0;
        self.retry_at = None;
        self.progress.first.store(ANSWERED, Ordering::Relaxed);
        if self.logged.take().is_some() {
            tracing::info!(endpoint = %self.endpoint.id(), "metrics are read again");
        }
    }

    fn fail(&mut self, error: &ScrapeError) {
        let counters = &self.shared.counters;
        let counter = match error {
            ScrapeError::NoLoad => &counters.extract_errors,
            _ => &counters.poll_errors,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Some(Instant::now() + backoff(self.source.interval(), self.failures));
        let first = &self.progress.first;
        if self.failures >= GIVE_UP_AFTER && first.load(Ordering::Relaxed) == PENDING {
            first.store(GIVEN_UP, Ordering::Relaxed);
        }
        let kind = Some(discriminant(error));
        if self.logged != kind {
            self.logged = kind;
            tracing::warn!(endpoint = %self.endpoint.id(), %error, "metrics cannot be read");
        }
    }
}

// === impl Page ===

impl Page {
    fn refuse_filtered(&mut self) {
        if matches!(self, Self::Filtered { .. }) {
            *self = Self::Whole;
        }
    }
}

/// Twice as long with each failure, up to [`BACKOFF_CAP`], less up to a fifth.
fn backoff(interval: Duration, failures: u32) -> Duration {
    let doubled = interval.saturating_mul(2_u32.saturating_pow(failures));
    doubled
        .min(BACKOFF_CAP)
        .mul_f64(rand::random_range(0.8..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_its_cap() {
        let interval = Duration::from_millis(50);
        for (failures, most) in [(1, 100), (2, 200), (3, 400), (7, 5_000), (1_000, 5_000)] {
            let most = Duration::from_millis(most);
            let found = backoff(interval, failures);
            assert!(
                found <= most && found >= most.mul_f64(0.79),
                "{failures}: {found:?}"
            );
        }
    }
}
