//! One try at one endpoint.

use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use suimon_telemetry::Reason;

use crate::failure::Failure;
use crate::upstream::{Answer, ConnectError, Outgoing, RequestHead, SendError, Target, Upstream};

/// Limits on one try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TryLimits {
    pub(crate) connect: Duration,
    /// The rule's `backendRequest`.
    pub(crate) answer: Option<Duration>,
}

/// Why a try failed.
#[derive(Debug)]
pub(crate) enum Tried {
    /// Nothing was sent: another endpoint can have it.
    NotConnected(ConnectError),
    /// The endpoint may have begun: the request ends.
    Failed(Failure),
}

/// Sends the request to `target` and waits for the head of the answer.
///
/// # Errors
/// See [`Tried`].
pub(crate) async fn forward(
    upstream: &Upstream,
    target: Target,
    limits: TryLimits,
    head: &RequestHead<'_>,
    body: &mut Outgoing,
) -> Result<Answer, Tried> {
    let sending = upstream.send(target, limits.connect, head, body);
    let sent = match limits.answer {
        None => sending.await,
        Some(limit) => {
            let deadline = Instant::now() + limit;
            match tokio::time::timeout_at(deadline.into(), sending).await {
                Ok(sent) => sent,
                Err(_elapsed) => return Err(Tried::Failed(Failure::plain(Reason::Timeout))),
            }
        }
    };
    let answer = sent.map_err(|error| failed(target, error))?;
    if is_ambiguous(answer.response.headers()) {
        // Dropping the answer closes its connection: what follows on it cannot be trusted.
        return Err(Tried::Failed(Failure::plain(Reason::EndpointInvalid)));
    }
    Ok(answer)
}

/// Two ways to tell the body's length (RFC 9112 §6.3), of which the client might take the other.
fn is_ambiguous(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

fn failed(target: Target, error: SendError) -> Tried {
    tracing::debug!(address = %target.address, error = %chain(&error), "try failed");
    let reason = match error {
        SendError::Connect(error) => return Tried::NotConnected(error),
        SendError::Reset(_) => Reason::EndpointReset,
        SendError::Invalid(_) => Reason::EndpointInvalid,
        SendError::Body(_) | SendError::Unsendable => Reason::BadRequest,
    };
    Tried::Failed(Failure::plain(reason))
}

/// The error with its sources, ` <- ` between them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(" <- ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
