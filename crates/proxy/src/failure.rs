//! A request that the gateway answers itself, with an error.

use std::borrow::Cow;

use suimon_llm::Exhausted;
use suimon_telemetry::{Blame, Reason};

/// Why a request ends without an endpoint's answer, in words fit for the client.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) message: Cow<'static, str>,
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    /// With the reason's own summary as text.
    pub(crate) fn plain(reason: Reason) -> Self {
        Self::new(reason, reason.summary())
    }

    pub(crate) fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::BadRequest, message)
    }
}

impl From<Exhausted> for Failure {
    fn from(exhausted: Exhausted) -> Self {
        Self::plain(exhausted.reason())
    }
}

impl Blame for Failure {
    fn reason(&self) -> Reason {
        self.reason
    }
}
