//! The gRPC server: HTTP/2 connections of proxies, a session a stream.
//!
//! One thread accepts and deals connections in turn; a proxy keeps one connection for each of its
//! own threads, so this spreads its streams. A connection stays on its thread, as do its streams.
//!
//! | file | what |
//! |---|---|
//! | `server/accept` | sockets to connections |
//! | `server/connection` | an HTTP/2 connection to streams |
//! | `server/stream` | a stream to messages, and back |
//! | `server/exchange` | what is done with streams: the seam to sessions |
//! | `server/process` | **the walk** of one `Process` stream |
//! | `server/health` | the health service |

mod accept;
mod connection;
mod exchange;
mod health;
mod options;
mod process;
mod stream;
mod worker;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use suimon_picker::{Clock, EndpointPicker, SystemClock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::session::Observer;
use exchange::Picks;
use worker::Worker;

pub use accept::{Plain, Upgrade};
pub use exchange::{Exchange, Processor};
pub use health::{Health, Serving};
pub use options::{Options, Services};

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// `None` once drained.
    threads: Mutex<Option<Threads>>,
}

#[derive(Debug)]
struct Threads {
    /// Dropping it ends the acceptor.
    accepting: watch::Sender<()>,
    acceptor: JoinHandle<()>,
    workers: Vec<Worker>,
}

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) processor: Arc<dyn Processor>,
    pub(crate) health: Arc<dyn Health>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: Options,
    pub(crate) draining: watch::Sender<bool>,
    /// Requests whose streams are open.
    pub(crate) requests: AtomicUsize,
}

/// Whom a server asks and tells.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Picks for the one pool that the server is for. One that follows responses is told that the
    /// exchange broke off once the request is answered: the proxy's own filter follows here.
    pub picker: Arc<dyn EndpointPicker>,
    /// Told of each request.
    pub observer: Arc<dyn Observer>,
    /// Asked whether to take requests.
    pub health: Arc<dyn Health>,
}

/// What a message may have beside a body: headers and metadata.
const AROUND_A_BODY: usize = 1 << 20;

/// How often [`Server::drain`] looks whether all connections have ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A stream of bytes that HTTP/2 can be spoken on: a socket, or TLS on one.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Transport for T {}

// === impl Server ===

impl Server {
    /// Serves connections of `listener`, each made a [`Transport`] by `upgrade`; for plain sockets
    /// that is [`Server::start_plain`].
    ///
    /// # Errors
    /// The system gives no threads or no event queues, or `listener` cannot be used.
    pub fn start(
        listener: TcpListener,
        upgrade: impl Upgrade,
        parts: Parts,
        options: Options,
    ) -> io::Result<Self> {
        let picks = Picks {
            picker: parts.picker,
            observer: parts.observer,
            settings: Arc::clone(&options.settings),
        };
        Self::process(listener, upgrade, Arc::new(picks), parts.health, options)
    }

    /// Serves connections of `listener` as they are.
    ///
    /// # Errors
    /// See [`Server::start`].
    pub fn start_plain(listener: TcpListener, parts: Parts, options: Options) -> io::Result<Self> {
        Self::start(listener, Plain, parts, options)
    }

    /// Serves connections of `listener`, each made a [`Transport`] by `upgrade`, with the sessions of
    /// `processor`.
    ///
    /// # Errors
    /// See [`Server::start`].
    pub fn process(
        listener: TcpListener,
        upgrade: impl Upgrade,
        processor: Arc<dyn Processor>,
        health: Arc<dyn Health>,
        options: Options,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            processor,
            health,
            clock: Arc::new(SystemClock),
            draining: watch::Sender::new(false),
            requests: AtomicUsize::new(0),
            options,
        });
        let count = shared.options.workers.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let workers = (0..count.max(1))
            .map(|number| worker::start(number, Arc::clone(&shared), upgrade.clone()))
            .collect::<io::Result<Vec<_>>>()?;
        let seats = workers.iter().map(Worker::seat).collect();
        let accepting = watch::Sender::new(());
        let (limit, stop) = (shared.options.connections, accepting.subscribe());
        let acceptor = accept::start(listener, seats, limit, stop)?;
        Ok(Self {
            address,
            shared,
            threads: Mutex::new(Some(Threads {
                accepting,
                acceptor,
                workers,
            })),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        let threads = self.threads.lock();
        let workers = threads.iter().flat_map(|threads| &threads.workers);
        workers.map(|worker| worker.open()).sum()
    }

    /// Requests whose streams are open. A stream that a proxy has opened in advance is none.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Stops accepting, asks peers to open no more streams, ends streams without a request, lets the
    /// others end for at most `limit`, then ends everything. Gives the number of connections that had to be cut.
    pub async fn drain(&self, limit: Duration) -> usize {
        let Some(threads) = self.threads.lock().take() else {
            return 0;
        };
        let Threads {
            accepting,
            acceptor,
            workers,
        } = threads;
        drop(accepting);
        self.shared.draining.send_replace(true);
        let open = || workers.iter().map(Worker::open).sum::<usize>();
        let deadline = tokio::time::Instant::now() + limit;
        while open() > 0 && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let cut = open();
        let mut ending = vec![acceptor];
        ending.extend(workers.into_iter().map(Worker::end));
        for thread in ending {
            // The threads end at their next wake-up; one that has panicked has told so itself.
            let _ = thread.join();
        }
        cut
    }
}

// === impl Shared ===

impl Shared {
    /// Longest message, in bytes: where bodies come whole, one may have as much as is allowed.
    pub(crate) fn message_limit(&self) -> usize {
        self.processor.body_limit().saturating_add(AROUND_A_BODY)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
