//! Accepts connections on one thread and deals them to the workers in turn.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Transport;
use super::worker::{Arrival, Open, Seat};

/// Pause after an error of `accept`, most likely no file descriptors: others may be freed.
const BACK_OFF: Duration = Duration::from_millis(50);

/// Silence after which the system asks whether a peer is still there: one that has vanished without a
/// word would keep its streams, and what they hold, for ever.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Makes of a socket what HTTP/2 is spoken on, for example by shaking hands for TLS.
pub trait Upgrade: Clone + Send + Sync + 'static {
    /// What HTTP/2 is spoken on.
    type Transport: Transport;

    /// Upgrades `socket`. The time that it may take is limited by the caller.
    fn upgrade(
        &self,
        socket: TcpStream,
    ) -> impl Future<Output = io::Result<Self::Transport>> + Send;
}

/// Leaves a socket as it is.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

impl Upgrade for Plain {
    type Transport = TcpStream;

    async fn upgrade(&self, socket: TcpStream) -> io::Result<TcpStream> {
        Ok(socket)
    }
}

/// Starts the thread that accepts, until `stop` is closed.
///
/// # Errors
/// The system gives no thread or no event queue.
pub(crate) fn start(
    listener: TcpListener,
    seats: Vec<Seat>,
    limit: usize,
    mut stop: watch::Receiver<()>,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("extproc-accept".to_owned())
        .spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    biased;
                    _ = stop.changed() => {}
                    () = accept(listener, seats, limit) => {}
                }
            });
        })
}

async fn accept(listener: TcpListener, seats: Vec<Seat>, limit: usize) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "cannot accept");
            return;
        }
    };
    for turn in 0_usize.. {
        let accepted = listener.accept().await;
        let dealt = accepted.and_then(|(stream, _)| deal(stream, &seats, turn));
        if let Err(error) = dealt {
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(BACK_OFF).await;
        }
        while open(&seats) >= limit {
            tokio::time::sleep(BACK_OFF).await;
        }
    }
}

/// Gives a connection to the worker whose turn it is.
fn deal(stream: TcpStream, seats: &[Seat], turn: usize) -> io::Result<()> {
    let stream = stream.into_std()?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    let seat = seats.get(turn % seats.len().max(1));
    if let Some((seat, arrivals)) = seat.and_then(|s| Some((s, s.arrivals.upgrade()?))) {
        let open = Open::count(&seat.open);
        // A worker that is gone drops the connection, which is all that is left to do.
        let _ = arrivals.send(Arrival { stream, open });
    }
    Ok(())
}

fn open(seats: &[Seat]) -> usize {
    let open = seats.iter().map(|seat| seat.open.load(Ordering::Relaxed));
    open.sum()
}
