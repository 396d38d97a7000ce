//! The connections to one picker.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::call::Call;
use super::connect::{Connection, connect};
use super::error::ClientError;
use super::settings::RemoteSettings;

/// Connections to one address that a thread opens when the picker limits the streams of each.
const MOST: usize = 4;

/// Connections by the thread that drives them: one runtime never waits for another one's.
#[derive(Debug)]
pub(super) struct Connections {
    addresses: ArcSwap<Vec<SocketAddr>>,
    open: Mutex<HashMap<ThreadId, Vec<Connection>>>,
    turn: AtomicUsize,
}

// === impl Connections ===

impl Connections {
    pub(super) fn new(addresses: Vec<SocketAddr>) -> Self {
        Self {
            addresses: ArcSwap::from_pointee(addresses),
            open: Mutex::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// Asks at these addresses from now on. Streams elsewhere go on to their end.
    pub(super) fn set_addresses(&self, addresses: Vec<SocketAddr>) {
        self.open.lock().values_mut().for_each(|connections| {
            connections.retain(|connection| addresses.contains(&connection.address));
        });
        self.addresses.store(addresses.into());
    }

    /// A stream on a kept connection, if there is one that can be used.
    pub(super) async fn kept(&self, settings: &RemoteSettings) -> Option<Call> {
        let connection = self.usable()?;
        Call::open(connection, settings).await.ok()
    }

    /// A stream on a new connection; kept ones are used where the picker's limit of streams or a
    /// failure to connect leaves nothing else.
    ///
    /// # Errors
    /// That of the last address that was tried.
    pub(super) async fn fresh(&self, settings: &RemoteSettings) -> Result<Call, ClientError> {
        let addresses = self.addresses.load_full();
        if addresses.is_empty() {
            return Err(ClientError::NoAddress);
        }
        let first = self.turn.fetch_add(1, Ordering::Relaxed) % addresses.len();
        let (before, from) = addresses.split_at(first);
        let mut failure = ClientError::NoAddress;
        for &address in from.iter().chain(before) {
            if let Some(connection) = self.full(address) {
                return Call::open(connection, settings).await;
            }
            match connect(address, settings).await {
                Ok(connection) => {
                    self.keep(connection.clone());
                    return Call::open(connection, settings).await;
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// The connection of this thread whose turn it is.
    fn usable(&self) -> Option<Connection> {
        let mut open = self.open.lock();
        let connections = open.get_mut(&std::thread::current().id())?;
        connections.retain(Connection::is_open);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = connections.len();
        let mut around = (0..count).filter_map(|step| connections.get((turn + step) % count));
        around.find(|connection| connection.has_room()).cloned()
    }

    /// A connection to an address that has as many as may be.
    fn full(&self, address: SocketAddr) -> Option<Connection> {
        let open = self.open.lock();
        let connections = open.get(&std::thread::current().id())?;
        let mut there = connections
            .iter()
            .filter(|connection| connection.address == address && connection.is_open());
        there.nth(MOST - 1).cloned()
    }

    fn keep(&self, connection: Connection) {
        let mut open = self.open.lock();
        let connections = open.entry(std::thread::current().id()).or_default();
        connections.push(connection);
    }
}
