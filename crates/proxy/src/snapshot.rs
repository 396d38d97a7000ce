//! All configuration that a request reads, taken once a request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use suimon_picker::{Endpoint, EndpointPicker};
use suimon_routing::table::{BackendProtocol, Bind, RoutingTable};

/// What the data plane runs on. A request reads one snapshot from its head to its end.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The compiled routes.
    pub table: RoutingTable,
    /// Pools in the order that [`suimon_routing::table::Backend::Pool`] counts.
    pub pools: Vec<Pool>,
    /// Limits on clients.
    pub limits: Limits,
}

/// One InferencePool as the data plane sees it.
#[derive(Debug, Clone)]
pub struct Pool {
    /// `namespace/name`.
    pub name: Arc<str>,
    /// Who picks; `None` when its reference cannot be used: the failure mode applies.
    pub picker: Option<Arc<dyn EndpointPicker>>,
    /// Whether requests go to any ready endpoint when the picker fails.
    pub fail_open: bool,
    /// What the endpoints speak.
    pub protocol: BackendProtocol,
    /// Ready endpoints, for requests that go on without the picker. Shared with whoever keeps it
    /// current, so that a change of Pods needs no new snapshot.
    pub ready: Arc<ArcSwap<Vec<Arc<Endpoint>>>>,
}

/// Limits on clients, and on waiting for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of a body that is held in memory; past it 413.
    pub body_bytes: usize,
    /// Most bytes of a request's head; past it 431.
    pub head_bytes: usize,
    /// Most header fields of a request; past it 431.
    pub headers: usize,
    /// Most bytes of all bodies in memory together; past it 503.
    pub in_flight_bytes: usize,
    /// Time from accept (or from the TLS handshake) to the first byte.
    pub first_byte: Duration,
    /// Time for a whole head; also the longest time that a kept-alive connection stays idle.
    pub head_read: Duration,
    /// Longest pause while a body is read; past it 408. A body also has to arrive at 16 KiB a
    /// second on average once this time is over.
    pub body_read: Duration,
    /// Time that an HTTP/2 connection may have no request.
    pub http2_idle: Duration,
    /// Time for a TLS handshake.
    pub tls_handshake: Duration,
    /// Time to connect to an endpoint.
    pub connect: Duration,
    /// Most client connections of the whole process; further ones wait in the kernel's queue.
    pub connections: usize,
}

// === impl Snapshot ===

impl Snapshot {
    /// The bind that was published under `address`.
    #[must_use]
    pub fn bind(&self, address: SocketAddr) -> Option<&Bind> {
        self.table.binds.iter().find(|b| b.address == address)
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            head_bytes: 64 << 10,
            headers: 100,
            in_flight_bytes: 1 << 30,
            first_byte: Duration::from_secs(15),
            head_read: Duration::from_secs(30),
            body_read: Duration::from_secs(30),
            http2_idle: Duration::from_secs(300),
            tls_handshake: Duration::from_secs(15),
            connect: Duration::from_secs(5),
            connections: 50_000,
        }
    }
}
