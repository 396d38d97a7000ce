//! Time limits of rules.

use std::time::{Duration, Instant};

use suimon_telemetry::Reason;

use crate::failure::Failure;

/// Runs `step` until `limit` after `from`; without a limit no timer is made.
///
/// # Errors
/// That of `step`, or [`Reason::Timeout`].
pub(crate) async fn within<T>(
    limit: Option<Duration>,
    from: Instant,
    step: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    // One place for the step, whichever way it is awaited: it is large, and moved when awaited.
    let mut step = std::pin::pin!(step);
    let Some(limit) = limit else {
        return step.await;
    };
    match tokio::time::timeout_at((from + limit).into(), step.as_mut()).await {
        Ok(done) => done,
        Err(_elapsed) => Err(Failure::plain(Reason::Timeout)),
    }
}

/// When a response has to be over; `None`: never.
pub(crate) fn deadline(
    request: Option<Duration>,
    started: Instant,
    backend_request: Option<Duration>,
    tried: Instant,
) -> Option<Instant> {
    let whole = request.map(|limit| started + limit);
    let one_try = backend_request.map(|limit| tried + limit);
    match (whole, one_try) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
