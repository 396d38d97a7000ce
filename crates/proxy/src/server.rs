//! Start, publish, drain: the data plane as the binary holds it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use suimon_routing::table::Protocol;
use tokio::sync::watch;

use crate::access_log::AccessLog;
use crate::body::Budget;
use crate::events::Observer;
use crate::listener::{self, Acceptor, CLOSED, Listening, Seat};
use crate::snapshot::Snapshot;
use crate::tls;
use crate::worker::{self, Shared, WorkerThread};

pub use crate::tls::CertificateError;

/// How to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Worker threads; `None`: one a core.
    pub workers: Option<usize>,
    /// Where a line a request goes; `None`: nowhere.
    pub access_log: Option<Arc<AccessLog>>,
}

/// The data plane.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    /// Open connections of each worker.
    open: Vec<Arc<AtomicUsize>>,
    sockets: Mutex<HashMap<SocketAddr, Bound>>,
    /// `None` once drained.
    threads: Mutex<Option<Threads>>,
}

#[derive(Debug)]
struct Threads {
    acceptor: Acceptor,
    workers: Vec<WorkerThread>,
}

/// One socket that is bound.
#[derive(Debug)]
struct Bound {
    local: SocketAddr,
    protocol: Protocol,
    state: watch::Sender<u64>,
}

/// What [`Server::publish`] did.
#[derive(Debug, Default)]
pub struct Published {
    /// Each bind of the table and the address that it listens on, which differs only in port 0.
    pub listening: Vec<(SocketAddr, SocketAddr)>,
    /// What could not be done. The rest was.
    pub problems: Vec<PublishError>,
}

/// A part of a snapshot that could not be put to work.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A socket cannot be bound.
    #[error("cannot listen on `{address}`")]
    Bind {
        /// Address of the bind.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// A snapshot with what is built from it.
#[derive(Debug, Default)]
pub(crate) struct Current {
    pub(crate) snapshot: Snapshot,
    pub(crate) tls: tls::Configs,
}

/// How often [`Server::drain`] looks whether all connections have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

// === impl Server ===

impl Server {
    /// Starts the threads. Nothing is bound before the first [`Server::publish`].
    ///
    /// # Errors
    /// The system gives no threads or no event queues.
    pub fn start(options: &Options, observer: Arc<dyn Observer>) -> io::Result<Self> {
        let snapshot = Snapshot::default();
        let shared = Arc::new(Shared {
            budget: Arc::new(Budget::new(snapshot.limits.in_flight_bytes)),
            current: ArcSwap::from_pointee(Current {
                snapshot,
                ..Current::default()
            }),
            observer,
            access_log: options.access_log.clone(),
        });
        let count = options.workers.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let workers = (0..count.max(1))
            .map(|number| worker::start(number, Arc::clone(&shared)))
            .collect::<io::Result<Vec<_>>>()?;
        let open = workers.iter().map(|w| Arc::clone(&w.open)).collect();
        let seats = workers
            .iter()
            .map(|worker| Seat {
                arrivals: worker.arrivals.downgrade(),
                open: Arc::clone(&worker.open),
            })
            .collect();
        let acceptor = listener::start(seats, Arc::clone(&shared))?;
        Ok(Self {
            shared,
            open,
            sockets: Mutex::default(),
            threads: Mutex::new(Some(Threads { acceptor, workers })),
        })
    }

    /// Puts `snapshot` to work: one swap for all requests that begin from now on. Sockets that are
    /// new are bound before, those that are gone are closed after; connections of the latter end
    /// when their requests do. What cannot be done is reported and the rest is done. Does nothing
    /// once [`Server::drain`] was called.
    #[must_use = "it tells what could not be done"]
    pub fn publish(&self, snapshot: Snapshot) -> Published {
        let mut published = Published::default();
        let threads = self.threads.lock();
        let Some(threads) = threads.as_ref() else {
            return published;
        };
        let mut sockets = self.sockets.lock();
        let before = self.shared.current.load_full();
        let mut problems = Vec::new();
        let tls = tls::configure(&snapshot.table, &before.tls, &mut problems);
        published
            .problems
            .extend(problems.into_iter().map(PublishError::from));
        let fresh = listen_new(&snapshot, &mut sockets, &mut published.problems);
        self.shared
            .budget
            .set_limit(snapshot.limits.in_flight_bytes);
        let current = Arc::new(Current { snapshot, tls });
        self.shared.current.store(Arc::clone(&current));
        for listening in fresh {
            // The thread ends only with the server.
            let _ = threads.acceptor.listeners.send(listening);
        }
        settle(&mut sockets, &current.snapshot);
        for listening in listen_again(&mut published.problems, &current.snapshot, &mut sockets) {
            let _ = threads.acceptor.listeners.send(listening);
        }
        published.listening = current
            .snapshot
            .table
            .binds
            .iter()
            .filter_map(|bind| Some((bind.address, sockets.get(&bind.address)?.local)))
            .collect();
        published
    }

    /// Open client connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open
            .iter()
            .map(|open| open.load(Ordering::Relaxed))
            .sum()
    }

    /// Stops accepting, lets running requests end for at most `limit`, then ends everything. Gives
    /// the number of connections that had to be cut.
    pub async fn drain(&self, limit: Duration) -> usize {
        let Some(threads) = self.threads.lock().take() else {
            return 0;
        };
        for bound in self.sockets.lock().values() {
            bound.state.send_replace(CLOSED);
        }
        let deadline = tokio::time::Instant::now() + limit;
        while self.connections() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let cut = self.connections();
        let Threads { acceptor, workers } = threads;
        drop(acceptor.listeners);
        let mut threads = vec![acceptor.thread];
        for worker in workers {
            drop(worker.arrivals);
            threads.push(worker.thread);
        }
        for thread in threads {
            // The threads end at their next wake-up; one that has panicked has told so itself.
            let _ = thread.join();
        }
        cut
    }
}

/// Binds the sockets that `snapshot` has and `sockets` has not.
fn listen_new(
    snapshot: &Snapshot,
    sockets: &mut HashMap<SocketAddr, Bound>,
    problems: &mut Vec<PublishError>,
) -> Vec<Listening> {
    let mut fresh = Vec::new();
    for bind in &snapshot.table.binds {
        let address = bind.address;
        if sockets.contains_key(&address) {
            continue;
        }
        match listen(address, bind.protocol) {
            Ok((bound, listening)) => {
                sockets.insert(address, bound);
                fresh.push(listening);
            }
            Err(source) => problems.push(PublishError::Bind { address, source }),
        }
    }
    fresh
}

/// Binds what could not be bound while a socket of ours that has just been closed stood in the way:
/// one at another address of the same port.
fn listen_again(
    problems: &mut Vec<PublishError>,
    snapshot: &Snapshot,
    sockets: &mut HashMap<SocketAddr, Bound>,
) -> Vec<Listening> {
    let mut fresh = Vec::new();
    for _ in 0..CLOSING_LOOKS {
        let in_use = |problem: &PublishError| {
            matches!(problem,
            PublishError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
        };
        if !problems.iter().any(in_use) {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
        problems.retain(|problem| !in_use(problem));
        fresh.extend(listen_new(snapshot, sockets, problems));
    }
    fresh
}

/// How often [`listen_again`] looks whether a socket has been closed.
const CLOSING_LOOKS: usize = 50;

fn listen(address: SocketAddr, protocol: Protocol) -> io::Result<(Bound, Listening)> {
    let socket = listener::bind(address)?;
    let (sender, state) = watch::channel(0);
    let bound = Bound {
        local: socket.local_addr()?,
        protocol,
        state: sender,
    };
    let listening = Listening {
        socket,
        bind: address,
        state,
    };
    Ok((bound, listening))
}

/// Closes sockets that `snapshot` does not have, and ends connections that speak what their socket
/// no longer does.
fn settle(sockets: &mut HashMap<SocketAddr, Bound>, snapshot: &Snapshot) {
    sockets.retain(|address, bound| {
        let Some(bind) = snapshot.bind(*address) else {
            bound.state.send_replace(CLOSED);
            return false;
        };
        if bind.protocol != bound.protocol {
            bound.protocol = bind.protocol;
            bound.state.send_modify(|generation| *generation += 1);
        }
        true
    });
}
