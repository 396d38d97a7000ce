//! Accepts client connections on one thread and deals them to the workers.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::{mpsc, watch};

use crate::worker::{Arrival, Open, Shared};

/// Connections that the kernel holds for us.
const BACKLOG: i32 = 4096;

/// Pause after an error of `accept`, most likely no file descriptors: others may be freed.
const BACK_OFF: Duration = Duration::from_millis(50);

/// State of [`Listening::state`] that ends the listener; other changes only end its connections.
pub(crate) const CLOSED: u64 = u64::MAX;

/// A socket to accept on.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) socket: TcpListener,
    /// Address as published.
    pub(crate) bind: SocketAddr,
    pub(crate) state: watch::Receiver<u64>,
}

/// A worker to deal connections to.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) arrivals: mpsc::WeakUnboundedSender<Arrival>,
    pub(crate) open: Arc<AtomicUsize>,
}

/// The thread that accepts.
#[derive(Debug)]
pub(crate) struct Acceptor {
    /// Dropping it ends the thread.
    pub(crate) listeners: mpsc::UnboundedSender<Listening>,
    pub(crate) thread: JoinHandle<()>,
}

/// Binds a socket.
///
/// # Errors
/// The address is in use, not ours, or not allowed.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // A restart must not wait for connections of the process before.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Starts the thread that accepts.
///
/// # Errors
/// The system gives no thread or no event queue.
pub(crate) fn start(seats: Vec<Seat>, shared: Arc<Shared>) -> io::Result<Acceptor> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (listeners, mut queue) = mpsc::unbounded_channel();
    let seats: Arc<[Seat]> = seats.into();
    let thread = std::thread::Builder::new()
        .name("proxy-accept".to_owned())
        .spawn(move || {
            runtime.block_on(async move {
                while let Some(listening) = queue.recv().await {
                    tokio::spawn(accept(listening, Arc::clone(&seats), Arc::clone(&shared)));
                }
            });
        })?;
    Ok(Acceptor { listeners, thread })
}

async fn accept(listening: Listening, seats: Arc<[Seat]>, shared: Arc<Shared>) {
    let Listening {
        socket,
        bind,
        mut state,
    } = listening;
    let socket = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => socket,
        Err(error) => {
            tracing::error!(%bind, %error, "cannot accept");
            return;
        }
    };
    loop {
        tokio::select! {
            biased;
            changed = state.changed() => {
                if changed.is_err() || *state.borrow() == CLOSED {
                    return;
                }
            }
            accepted = socket.accept() => {
                if let Err(error) = accepted.and_then(|(stream, peer)| {
                    deal(stream, peer, bind, &state, &seats)
                }) {
                    tracing::warn!(%bind, %error, "cannot accept a connection");
                    tokio::time::sleep(BACK_OFF).await;
                }
                while is_full(&seats, &shared) {
                    tokio::time::sleep(BACK_OFF).await;
                }
            }
        }
    }
}

/// Gives a connection to the worker that has the fewest.
fn deal(
    stream: tokio::net::TcpStream,
    peer: SocketAddr,
    bind: SocketAddr,
    state: &watch::Receiver<u64>,
    seats: &[Seat],
) -> io::Result<()> {
    let stream = stream.into_std()?;
    let fewest = seats
        .iter()
        .min_by_key(|seat| seat.open.load(Ordering::Relaxed));
    let Some((seat, arrivals)) = fewest.and_then(|s| Some((s, s.arrivals.upgrade()?))) else {
        return Ok(());
    };
    let mut closing = state.clone();
    closing.mark_unchanged();
    // A worker that is gone drops the connection, which is all that is left to do.
    let _ = arrivals.send(Arrival {
        stream,
        peer,
        bind,
        closing,
        open: Open::count(&seat.open),
    });
    Ok(())
}

fn is_full(seats: &[Seat], shared: &Shared) -> bool {
    let open: usize = seats
        .iter()
        .map(|seat| seat.open.load(Ordering::Relaxed))
        .sum();
    open >= shared.current.load().snapshot.limits.connections
}
