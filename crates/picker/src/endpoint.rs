//! One endpoint: an address of a pool that a request can go to, with its live state.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::metrics::{Load, Metrics, STALE_AFTER};

/// What stays the same while an endpoint lives. A change of any of it makes a new endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointSpec {
    /// Unique in its pool: `namespace/pod-rank-0`, or the name that discovery gave.
    pub id: Arc<str>,
    /// Where requests go.
    pub address: SocketAddr,
    /// Labels of the Pod, or of the discovery file.
    pub labels: BTreeMap<String, String>,
}

/// An endpoint with its metrics and its in-flight ledger. Shared by every snapshot that has it.
#[derive(Debug)]
pub struct Endpoint {
    spec: EndpointSpec,
    /// `address` as text: the value of `x-gateway-destination-endpoint`.
    authority: Arc<str>,
    slot: u32,
    metrics: ArcSwap<Metrics>,
    ledger: Ledger,
    /// Requests ever sent here.
    total: AtomicU64,
    /// Blocks that a prefix index says are held here, for display.
    prefix_blocks: AtomicU32,
    gone: AtomicBool,
    /// Until when it is passed over because it refused a connection; milliseconds after [`ORIGIN`].
    avoided_until: AtomicU64,
}

/// What moments are counted from: the first one that anybody tells.
static ORIGIN: OnceLock<Instant> = OnceLock::new();

/// Time for which an endpoint that refused a connection is passed over while others are there.
const AVOIDED: Duration = Duration::from_secs(2);

/// Requests that we sent and that have not ended.
#[derive(Debug, Default)]
struct Ledger {
    requests: AtomicI64,
    tokens: AtomicI64,
    /// Counts scrapes: a request remembers the one it was sent in.
    epoch: AtomicU64,
    /// Requests sent in the current and in the previous epoch, by parity of the epoch. A scrape that
    /// is under way may have been rendered before a request of the current epoch arrived.
    unseen: [AtomicU32; 2],
}

/// A request's share of the ledger: give it back with [`Endpoint::release`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticket {
    epoch: u64,
    tokens: i64,
}

/// Slots are never used twice: what an index still holds of an endpoint that went says nothing of
/// the next one at the same address.
static NEXT_SLOT: AtomicU32 = AtomicU32::new(0);

// === impl Endpoint ===

impl Endpoint {
    /// An endpoint that was never scraped.
    #[must_use]
    pub fn new(spec: EndpointSpec) -> Self {
        Self {
            authority: Arc::from(spec.address.to_string()),
            spec,
            slot: NEXT_SLOT.fetch_add(1, Ordering::Relaxed),
            metrics: ArcSwap::from_pointee(Metrics::default()),
            ledger: Ledger::default(),
            total: AtomicU64::new(0),
            prefix_blocks: AtomicU32::new(0),
            gone: AtomicBool::new(false),
            avoided_until: AtomicU64::new(0),
        }
    }

    /// What stays the same while the endpoint lives.
    #[must_use]
    pub fn spec(&self) -> &EndpointSpec {
        &self.spec
    }

    /// Unique in its pool.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.spec.id
    }

    /// Where requests go.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.spec.address
    }

    /// The address as text, IPv6 in brackets.
    #[must_use]
    pub fn authority(&self) -> &Arc<str> {
        &self.authority
    }

    /// Value of one label.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        self.spec.labels.get(key).map(String::as_str)
    }

    /// Number of this endpoint in prefix indexes, never used twice in one process.
    #[must_use]
    pub fn slot(&self) -> u32 {
        self.slot
    }

    /// The last scrape.
    #[must_use]
    pub fn metrics(&self) -> arc_swap::Guard<Arc<Metrics>> {
        self.metrics.load()
    }

    /// Call before a scrape is sent: requests sent from now on are not in its figures.
    pub fn begin_scrape(&self) {
        self.ledger.epoch.fetch_add(1, Ordering::Relaxed);
    }

    /// Stores what a scrape told. Requests sent before [`Endpoint::begin_scrape`] are in it.
    pub fn finish_scrape(&self, metrics: Metrics) {
        self.metrics.store(Arc::new(metrics));
        let previous = self.ledger.epoch.load(Ordering::Relaxed).wrapping_sub(1);
        self.ledger.unseen_of(previous).store(0, Ordering::Relaxed);
    }

    /// The figures that load scorers read, as of `now`.
    #[must_use]
    pub fn load(&self, now: Instant) -> Load {
        let metrics = self.metrics.load();
        let Some(updated) = metrics.updated else {
            return Load::default();
        };
        let age = now.saturating_duration_since(updated);
        let unseen = self.ledger.unseen();
        Load {
            fresh: age <= STALE_AFTER,
            age,
            late: age.saturating_sub(metrics.grace),
            waiting: metrics.waiting.saturating_add(unseen),
            running: metrics.running.saturating_add(unseen),
            scraped_waiting: metrics.waiting,
            kv_usage: metrics.kv_usage,
        }
    }

    /// Requests that we sent and that have not ended.
    #[must_use]
    pub fn in_flight_requests(&self) -> u32 {
        u32::try_from(self.ledger.requests.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Estimated uncached prompt tokens of those requests.
    #[must_use]
    pub fn in_flight_tokens(&self) -> u64 {
        u64::try_from(self.ledger.tokens.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// Requests ever sent here.
    #[must_use]
    pub fn total_requests(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Blocks that a prefix index says are held here.
    #[must_use]
    pub fn prefix_blocks(&self) -> u32 {
        self.prefix_blocks.load(Ordering::Relaxed)
    }

    /// Notes how many blocks a prefix index says are held here.
    pub fn set_prefix_blocks(&self, blocks: usize) {
        self.prefix_blocks
            .store(u32::try_from(blocks).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// No connection could be made at `now`: picks pass over it for a while, as far as there are
    /// others.
    pub fn refused(&self, now: Instant) {
        let avoided = u64::try_from(AVOIDED.as_millis()).unwrap_or(u64::MAX);
        let until = millis(now).saturating_add(avoided);
        self.avoided_until.store(until, Ordering::Relaxed);
    }

    /// Whether it refused a connection a short time before `now`.
    #[must_use]
    pub fn is_avoided(&self, now: Instant) -> bool {
        let until = self.avoided_until.load(Ordering::Relaxed);
        until > 0 && millis(now) < until
    }

    /// Whether the endpoint has left its pool. Requests in flight go on.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Marks the endpoint as having left its pool: its scrape loop ends.
    pub fn mark_gone(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Counts one request of `tokens` uncached prompt tokens.
    pub(crate) fn take(&self, tokens: u64) -> Ticket {
        let tokens = i64::try_from(tokens).unwrap_or(i64::MAX / 1_000_000);
        let epoch = self.ledger.epoch.load(Ordering::Relaxed);
        self.ledger.requests.fetch_add(1, Ordering::Relaxed);
        self.total.fetch_add(1, Ordering::Relaxed);
        self.ledger.tokens.fetch_add(tokens, Ordering::Relaxed);
        self.ledger.unseen_of(epoch).fetch_add(1, Ordering::Relaxed);
        Ticket { epoch, tokens }
    }

    /// Gives back what [`Endpoint::take`] counted, exactly once a ticket.
    pub(crate) fn release(&self, ticket: Ticket) {
        self.ledger.requests.fetch_sub(1, Ordering::Relaxed);
        self.ledger
            .tokens
            .fetch_sub(ticket.tokens, Ordering::Relaxed);
        let age = self
            .ledger
            .epoch
            .load(Ordering::Relaxed)
            .wrapping_sub(ticket.epoch);
        if age <= 1 {
            // A scrape may have cleared the counter in between: never below zero.
            let unseen = self.ledger.unseen_of(ticket.epoch);
            let _ = unseen.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        }
    }
}

fn millis(moment: Instant) -> u64 {
    let origin = ORIGIN.get_or_init(|| moment);
    let since = moment.saturating_duration_since(*origin);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

// === impl Ledger ===

impl Ledger {
    fn unseen_of(&self, epoch: u64) -> &AtomicU32 {
        let [even, odd] = &self.unseen;
        if epoch.is_multiple_of(2) { even } else { odd }
    }

    fn unseen(&self) -> u32 {
        let [even, odd] = &self.unseen;
        even.load(Ordering::Relaxed)
            .saturating_add(odd.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock as _, SystemClock};
    use std::time::Duration;

    fn endpoint() -> Endpoint {
        Endpoint::new(EndpointSpec {
            id: Arc::from("default/a"),
            address: "[fd00::1]:8000".parse().unwrap(),
            labels: BTreeMap::new(),
        })
    }

    fn scraped(now: Instant, waiting: u32) -> Metrics {
        Metrics {
            updated: Some(now),
            waiting,
            ..Metrics::default()
        }
    }

    #[test]
    fn authority_has_brackets_for_ipv6() {
        assert_eq!(&**endpoint().authority(), "[fd00::1]:8000");
    }

    #[test]
    fn who_refused_a_connection_is_avoided_for_a_while() {
        let (endpoint, now) = (endpoint(), SystemClock.now());
        assert!(!endpoint.is_avoided(now));
        endpoint.refused(now);
        assert!(endpoint.is_avoided(now));
        assert!(!endpoint.is_avoided(now + AVOIDED));
    }

    #[test]
    fn never_scraped_is_not_fresh() {
        assert!(!endpoint().load(SystemClock.now()).fresh);
    }

    #[test]
    fn old_figures_are_not_fresh() {
        let (endpoint, now) = (endpoint(), SystemClock.now());
        endpoint.begin_scrape();
        endpoint.finish_scrape(scraped(now, 0));
        assert!(endpoint.load(now).fresh);
        assert!(
            !endpoint
                .load(now + STALE_AFTER + Duration::from_millis(1))
                .fresh
        );
    }

    #[test]
    fn requests_count_as_waiting_until_a_scrape_begun_after_them() {
        let (endpoint, now) = (endpoint(), SystemClock.now());
        endpoint.begin_scrape();
        endpoint.finish_scrape(scraped(now, 3));
        let first = endpoint.take(10);
        assert_eq!(endpoint.load(now).waiting, 4);
        endpoint.begin_scrape();
        let second = endpoint.take(10);
        endpoint.finish_scrape(scraped(now, 4));
        assert_eq!(
            endpoint.load(now).waiting,
            5,
            "the second came after the scrape began"
        );
        endpoint.release(first);
        endpoint.release(second);
        assert_eq!(endpoint.load(now).waiting, 4);
        assert_eq!(
            (endpoint.in_flight_requests(), endpoint.in_flight_tokens()),
            (0, 0)
        );
    }
}
