//! A Service: plain balancing, the body streamed through.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use http::StatusCode;
use parking_lot::Mutex;
use suimon_llm::ApiKind;
use suimon_routing::table::{BackendProtocol, ServiceBackend};
use suimon_telemetry::Reason;

use super::{Departure, Served};
use crate::failure::Failure;
use crate::retry::{self, Plan, Stops};

/// Requests of one worker at endpoints of Services.
#[derive(Debug, Default)]
pub(crate) struct Visits {
    running: Mutex<HashMap<SocketAddr, usize>>,
}

/// One request at one endpoint; ends on drop.
#[derive(Debug)]
pub(crate) struct Visit {
    visits: Arc<Visits>,
    address: SocketAddr,
}

/// Sends the request to the less busy of two endpoints drawn at random, then to the others while
/// none accepts a connection.
///
/// # Errors
/// No endpoint is ready, or none answers.
pub(super) async fn send(
    service: &ServiceBackend,
    mut departure: Departure<'_>,
) -> Result<Served, Failure> {
    departure.exchange.backend(&service.name, false);
    if !departure.body.is_unread() {
        let held = departure.body.held().map_or(0, bytes::Bytes::len);
        departure.exchange.body_read(held);
    }
    let endpoints = &service.endpoints;
    if endpoints.is_empty() {
        return Err(Failure::plain(Reason::NoEndpoints));
    }
    let upgrade = departure
        .upgrade
        .take()
        .filter(|_| service.protocol == BackendProtocol::Http1 && !departure.body.is_unread());
    if let Some(upgrade) = &upgrade {
        upgrade.ask(&mut departure.parts.headers);
    }
    let first = draw(endpoints, &departure.worker.visits);
    let stops = Stops::around(endpoints, first);
    let plan = Plan {
        upstream: &departure.worker.upstream,
        protocol: service.protocol,
        limits: departure.try_limits(),
        upgrades: upgrade.is_some(),
    };
    let (mut body, share) = departure.body.into_outgoing();
    let sent = retry::send(
        plan,
        stops,
        &mut departure.parts,
        &mut body,
        departure.exchange,
    )
    .await;
    drop(share);
    let sent = sent?;
    let agreed = sent.answer.response.status() == StatusCode::SWITCHING_PROTOCOLS;
    Ok(Served {
        upgrade: upgrade.filter(|_| agreed),
        answer: sent.answer,
        tried: sent.tried,
        api: ApiKind::Opaque,
        restore: None,
        following: None,
    })
}

/// Place of the less busy of two endpoints.
fn draw(endpoints: &[SocketAddr], visits: &Visits) -> usize {
    let one = rand::random_range(0..endpoints.len());
    let other = rand::random_range(0..endpoints.len());
    let running = visits.running.lock();
    let load = |place: usize| {
        let address = endpoints.get(place);
        address.and_then(|a| running.get(a)).copied().unwrap_or(0)
    };
    if load(other) < load(one) { other } else { one }
}

// === impl Visits ===

impl Visits {
    /// Counts a request at `address`.
    pub(crate) fn begin(visits: &Arc<Self>, address: SocketAddr) -> Visit {
        *visits.running.lock().entry(address).or_default() += 1;
        Visit {
            visits: Arc::clone(visits),
            address,
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        let mut running = self.visits.running.lock();
        if let Some(count) = running.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                running.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_busy_of_two() {
        let endpoints: Vec<SocketAddr> = (1..=2)
            .map(|n| SocketAddr::from(([10, 0, 0, n], 80)))
            .collect();
        let visits = Arc::new(Visits::default());
        let busy = Visits::begin(&visits, endpoints[0]);
        let drawn = |visits: &Visits| (0..2000).filter(|_| draw(&endpoints, visits) == 0).count();
        // Only when both draws are the busy one: a quarter.
        assert!((350..650).contains(&drawn(&visits)));
        drop(busy);
        assert!((850..1150).contains(&drawn(&visits)));
        assert!(visits.running.lock().is_empty());
    }
}
