//! Signals that end the process.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or SIGTERM and gives its name.
///
/// # Errors
/// The system does not let signals be received.
pub(crate) async fn requested() -> std::io::Result<&'static str> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = interrupt.recv() => "Ctrl-C",
        _ = terminate.recv() => "SIGTERM",
    })
}
