//! What the client is told when its request goes nowhere.

use std::borrow::Cow;

use http::HeaderName;
use http::StatusCode;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING};
use suimon_llm::{Exhausted, error_body};
use suimon_picker::{DirectAnswer, PickError, control, request_id};
use suimon_telemetry::{Blame as _, Reason};

use crate::message::{HeaderMutation, ImmediateResponse};

/// Seconds after which a client that was turned away may come again.
const RETRY_AFTER_SECONDS: &str = "1";

/// How a response is framed is the proxy's business.
const FRAMING: [HeaderName; 3] = [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING];

/// Why a request goes nowhere.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    message: Cow<'static, str>,
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn new(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    pub(super) fn pick(error: &PickError) -> Self {
        Self::new(error.reason(), error.to_string())
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("the request body is larger than {limit} bytes");
        Self::new(Reason::BodyTooLarge, message)
    }

    pub(crate) fn cut() -> Self {
        let message = "the request body is larger than the proxy's buffer";
        Self::new(Reason::BodyTooLarge, message)
    }

    pub(crate) fn encoded() -> Self {
        let message = "the request body has a content encoding; it must be sent without";
        Self::new(Reason::UnsupportedEncoding, message)
    }

    pub(super) fn bodiless() -> Self {
        Self::new(Reason::BadRequest, "the request has trailers but no body")
    }

    /// The response to the client, for the request `id`.
    pub(crate) fn response(&self, id: &str, grpc: bool) -> ImmediateResponse {
        let row = self.reason.row();
        let mut headers = HeaderMutation::default();
        headers.set(CONTENT_TYPE.as_str(), "application/json");
        if !id.is_empty() {
            headers.set(request_id::HEADER.as_str(), id.to_owned());
        }
        if let Some(dropped) = row.dropped {
            headers.set(control::DROPPED.as_str(), dropped);
        }
        if matches!(
            row.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            headers.set(RETRY_AFTER.as_str(), RETRY_AFTER_SECONDS);
        }
        ImmediateResponse {
            status: u32::from(row.status.as_u16()),
            headers,
            body: error_body(self.reason, &self.message, id),
            grpc_status: grpc.then(|| grpc_status(row.status)),
            details: row.label.to_owned(),
        }
    }
}

/// The picker's own response to the client, for the request `id`.
pub(super) fn direct(answer: &DirectAnswer, id: &str, grpc: bool) -> ImmediateResponse {
    let mut headers = HeaderMutation::default();
    let mut own = answer.headers.clone();
    for name in FRAMING {
        own.remove(name);
    }
    headers.set_all(&own);
    headers.set(request_id::HEADER.as_str(), id.to_owned());
    ImmediateResponse {
        status: u32::from(answer.status.as_u16()),
        headers,
        body: answer.body.clone(),
        grpc_status: grpc.then(|| grpc_status(answer.status)),
        details: Reason::PickerAnswered.row().label.to_owned(),
    }
}

impl From<Exhausted> for Refusal {
    fn from(exhausted: Exhausted) -> Self {
        Self::new(exhausted.reason(), exhausted.to_string())
    }
}

/// The status of gRPC that is nearest to one of HTTP.
fn grpc_status(status: StatusCode) -> u32 {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::PAYLOAD_TOO_LARGE => 8,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        status if status.is_client_error() => 3,
        _ => 13,
    }
}
