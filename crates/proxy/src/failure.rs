//! A request that the gateway answers itself, with an error.

use std::borrow::Cow;

use suimon_llm::Exhausted;
use suimon_picker::{DirectAnswer, PickError};
use suimon_telemetry::{Blame, Reason};

/// Why a request ends without an endpoint's answer, in words fit for the client.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) message: Cow<'static, str>,
    /// What a foreign picker wants the client to be answered instead.
    pub(crate) answer: Option<Box<DirectAnswer>>,
}

// === impl Failure ===

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
            answer: None,
        }
    }

    /// With the reason's own summary as text.
    pub(crate) fn plain(reason: Reason) -> Self {
        Self::new(reason, reason.summary())
    }

    /// The answer of a foreign picker.
    pub(crate) fn answered(answer: DirectAnswer) -> Self {
        Self {
            answer: Some(Box::new(answer)),
            ..Self::plain(Reason::PickerAnswered)
        }
    }

    /// What a picker gave in place of a decision.
    pub(crate) fn picking(error: PickError) -> Self {
        match error {
            PickError::Answered(answer) => Self::answered(*answer),
            error => Self::new(error.reason(), error.to_string()),
        }
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
