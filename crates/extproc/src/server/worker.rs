//! A thread that serves connections.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::accept::Upgrade;
use super::{Shared, connection};

/// A connection that was accepted.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) stream: TcpStream,
    pub(crate) open: Open,
}

/// Counts an open connection; ends on drop.
#[derive(Debug)]
pub(crate) struct Open(Arc<AtomicUsize>);

/// A worker, seen from outside.
#[derive(Debug)]
pub(crate) struct Worker {
    arrivals: mpsc::UnboundedSender<Arrival>,
    open: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

/// Where the acceptor puts connections for a worker. Bounded by the limit of open connections.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) arrivals: mpsc::WeakUnboundedSender<Arrival>,
    pub(crate) open: Arc<AtomicUsize>,
}

/// Starts a worker.
///
/// # Errors
/// The system gives no thread or no event queue.
pub(crate) fn start(
    number: usize,
    shared: Arc<Shared>,
    upgrade: impl Upgrade,
) -> io::Result<Worker> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (arrivals, mut queue) = mpsc::unbounded_channel();
    let thread = std::thread::Builder::new()
        .name(format!("extproc-{number}"))
        .spawn(move || {
            runtime.block_on(async move {
                while let Some(arrival) = queue.recv().await {
                    let (shared, upgrade) = (Arc::clone(&shared), upgrade.clone());
                    tokio::spawn(connection::run(arrival, upgrade, shared));
                }
            });
        })?;
    Ok(Worker {
        arrivals,
        open: Arc::default(),
        thread,
    })
}

// === impl Worker ===

impl Worker {
    /// Open connections.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Where connections for this worker go.
    pub(crate) fn seat(&self) -> Seat {
        Seat {
            arrivals: self.arrivals.downgrade(),
            open: Arc::clone(&self.open),
        }
    }

    /// Ends the thread and all that runs on it.
    pub(crate) fn end(self) -> JoinHandle<()> {
        self.thread
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
