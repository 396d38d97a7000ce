//! A worker: one thread, one runtime, its client connections and its connections to endpoints.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, watch};

use crate::access_log::AccessLog;
use crate::backend::Visits;
use crate::body::Budget;
use crate::connection;
use crate::events::Observer;
use crate::server::Current;
use crate::upstream::Upstream;

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) current: ArcSwap<Current>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) access_log: Option<Arc<AccessLog>>,
}

/// What the connections of one worker share. Only its thread uses it.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) upstream: Upstream,
    pub(crate) visits: Arc<Visits>,
    /// Whose turn it is when a pool goes on without its picker.
    pub(crate) turn: AtomicUsize,
    /// Mirrored requests in flight.
    pub(crate) mirrors: Arc<AtomicUsize>,
}

/// A client connection that was accepted.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// Address of the bind, as published.
    pub(crate) bind: SocketAddr,
    /// Changes when the connection has to end after its requests.
    pub(crate) closing: watch::Receiver<u64>,
    pub(crate) open: Open,
}

/// Counts an open connection; ends on drop.
#[derive(Debug)]
pub(crate) struct Open(Arc<AtomicUsize>);

/// The thread of a worker, seen from outside.
#[derive(Debug)]
pub(crate) struct WorkerThread {
    /// Where arrivals go; dropping it ends the thread.
    pub(crate) arrivals: mpsc::UnboundedSender<Arrival>,
    /// Open connections.
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) thread: JoinHandle<()>,
}

/// How often idle upstream connections are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Starts a worker.
///
/// # Errors
/// The system gives no thread or no event queue.
pub(crate) fn start(number: usize, shared: Arc<Shared>) -> io::Result<WorkerThread> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (arrivals, mut queue) = mpsc::unbounded_channel();
    let worker = Arc::new(Worker {
        shared,
        upstream: Upstream::default(),
        visits: Arc::default(),
        turn: AtomicUsize::new(0),
        mirrors: Arc::default(),
    });
    let thread = std::thread::Builder::new()
        .name(format!("proxy-{number}"))
        .spawn(move || {
            runtime.block_on(async move {
                tokio::spawn(sweep(Arc::clone(&worker)));
                while let Some(arrival) = queue.recv().await {
                    tokio::spawn(connection::run(arrival, Arc::clone(&worker)));
                }
            });
        })?;
    Ok(WorkerThread {
        arrivals,
        open: Arc::default(),
        thread,
    })
}

async fn sweep(worker: Arc<Worker>) {
    let mut tick = tokio::time::interval(SWEEP_EVERY);
    loop {
        tick.tick().await;
        worker.upstream.sweep();
    }
}

// === impl Open ===

impl Open {
    pub(crate) fn count(open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Shared ===

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
