//! Why a request ended as it did.
//!
//! [`Reason`] is closed. [`Reason::row`] is the only table from a reason to what a client sees, what
//! a metric is labelled with and how loud the log is; nothing else in the workspace maps errors to
//! status codes.

use http::StatusCode;

/// Who has to act so that the request would have worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// The request itself is wrong.
    Client,
    /// Our own configuration or a fault of ours.
    Gateway,
    /// A model server.
    Endpoint,
    /// The endpoint picker, ours or a foreign one.
    Picker,
}

/// Whether sending the same request again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same request fails again.
    Never,
    /// Later, when load has gone down.
    Later,
    /// At once, on another endpoint.
    Elsewhere,
}

/// Implemented by every error that can end a request.
pub trait Blame {
    /// The row of the one table.
    fn reason(&self) -> Reason;

    /// Who has to act.
    fn source(&self) -> Source {
        self.reason().row().source
    }

    /// Whether sending the same request again may help.
    fn retry(&self) -> Retry {
        self.reason().row().retry
    }
}

/// What one reason means to each reader.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Status of the client's response.
    pub status: StatusCode,
    /// `error.type` of the OpenAI-shaped body.
    pub kind: &'static str,
    /// `error.code` of the body and the value of the metric label `reason`.
    pub label: &'static str,
    /// Value of `x-llm-d-request-dropped-reason`, for reasons that shed load.
    pub dropped: Option<&'static str>,
    /// Who has to act.
    pub source: Source,
    /// Whether sending it again may help.
    pub retry: Retry,
}

/// Why a request ended without the endpoint's own answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The request is malformed: bad JSON, bad framing, bad header.
    BadRequest,
    /// A route or a pool needs the `model` field and the body has none.
    ModelMissing,
    /// No route matches host, path, method and headers.
    NoRoute,
    /// The TLS connection was made for another host.
    Misdirected,
    /// The body is larger than the limit.
    BodyTooLarge,
    /// The head is larger than the limit.
    HeadersTooLarge,
    /// The body has a content encoding that cannot be read.
    UnsupportedEncoding,
    /// The request expects something other than 100-continue.
    ExpectationFailed,
    /// The client sent its body too slowly.
    RequestTimeout,
    /// The gateway holds as many bytes in flight as it may.
    Overloaded,
    /// The pool is saturated and the request may be shed, or filters left no endpoint.
    Saturated,
    /// The pool has no endpoint that can take the request.
    NoEndpoints,
    /// The gateway is shutting down.
    ShuttingDown,
    /// The endpoint picker failed and the pool fails closed.
    PickerFailed,
    /// A foreign endpoint picker answered the client itself, with a status of its own.
    PickerAnswered,
    /// The route's backend is missing, refused or of an unknown kind.
    BackendInvalid,
    /// A filter of the route cannot be applied.
    FilterInvalid,
    /// No endpoint of the decision accepted a connection.
    ConnectFailed,
    /// The endpoint broke the connection before it answered.
    EndpointReset,
    /// The endpoint's answer is not valid HTTP.
    EndpointInvalid,
    /// The route's time limit ran out.
    Timeout,
    /// A fault of the gateway itself.
    Internal,
}

// === impl Reason ===

impl Reason {
    /// Every reason, for docs and tests.
    pub const ALL: &'static [Self] = &[
        Self::BadRequest,
        Self::ModelMissing,
        Self::NoRoute,
        Self::Misdirected,
        Self::BodyTooLarge,
        Self::HeadersTooLarge,
        Self::UnsupportedEncoding,
        Self::ExpectationFailed,
        Self::RequestTimeout,
        Self::Overloaded,
        Self::Saturated,
        Self::NoEndpoints,
        Self::ShuttingDown,
        Self::PickerFailed,
        Self::PickerAnswered,
        Self::BackendInvalid,
        Self::FilterInvalid,
        Self::ConnectFailed,
        Self::EndpointReset,
        Self::EndpointInvalid,
        Self::Timeout,
        Self::Internal,
    ];

    /// The table.
    #[must_use]
    pub const fn row(self) -> Row {
        use Retry::{Elsewhere, Later, Never};
        use Source::{Client, Endpoint, Gateway, Picker};
        use StatusCode as S;
        match self {
            Self::BadRequest => client(S::BAD_REQUEST, "bad-request"),
            Self::ModelMissing => client(S::BAD_REQUEST, "model-missing"),
            Self::NoRoute => row(S::NOT_FOUND, "not_found_error", "no-route", Client, Never),
            Self::Misdirected => client(S::MISDIRECTED_REQUEST, "misdirected"),
            Self::BodyTooLarge => client(S::PAYLOAD_TOO_LARGE, "body-too-large"),
            Self::HeadersTooLarge => {
                client(S::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers-too-large")
            }
            Self::UnsupportedEncoding => client(S::UNSUPPORTED_MEDIA_TYPE, "unsupported-encoding"),
            Self::ExpectationFailed => client(S::EXPECTATION_FAILED, "expectation-failed"),
            Self::RequestTimeout => client(S::REQUEST_TIMEOUT, "request-timeout"),
            Self::Overloaded => {
                overloaded("gateway-overloaded", Gateway, Later).dropped("rejected-saturated")
            }
            Self::Saturated => row(
                S::TOO_MANY_REQUESTS,
                "rate_limit_error",
                "saturated",
                Endpoint,
                Later,
            )
            .dropped("rejected-saturated"),
            Self::NoEndpoints => {
                overloaded("no-endpoints", Endpoint, Later).dropped("rejected-no-endpoints")
            }
            Self::ShuttingDown => {
                overloaded("shutting-down", Gateway, Elsewhere).dropped("rejected-shutting-down")
            }
            Self::PickerFailed => api(S::SERVICE_UNAVAILABLE, "picker-failed", Picker, Later),
            Self::PickerAnswered => api(S::SERVICE_UNAVAILABLE, "picker-answered", Picker, Later),
            Self::BackendInvalid => {
                api(S::INTERNAL_SERVER_ERROR, "backend-invalid", Gateway, Never)
            }
            Self::FilterInvalid => api(S::INTERNAL_SERVER_ERROR, "filter-invalid", Gateway, Never),
            Self::ConnectFailed => api(
                S::SERVICE_UNAVAILABLE,
                "connect-failed",
                Endpoint,
                Elsewhere,
            ),
            Self::EndpointReset => api(S::BAD_GATEWAY, "endpoint-reset", Endpoint, Elsewhere),
            Self::EndpointInvalid => api(S::BAD_GATEWAY, "endpoint-invalid", Endpoint, Elsewhere),
            Self::Timeout => row(
                S::GATEWAY_TIMEOUT,
                "timeout_error",
                "timeout",
                Endpoint,
                Later,
            ),
            Self::Internal => api(S::INTERNAL_SERVER_ERROR, "internal", Gateway, Later),
        }
    }

    /// What happened, one line, for the reference docs.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::BadRequest => "the request is malformed: bad JSON, bad framing, bad header",
            Self::ModelMissing => "a route or a pool needs the `model` field and the body has none",
            Self::NoRoute => "no route matches host, path, method and headers",
            Self::Misdirected => "the TLS connection was made for another host",
            Self::BodyTooLarge => "the body is larger than the limit",
            Self::HeadersTooLarge => "the head is larger than the limit",
            Self::UnsupportedEncoding => "the body has a content encoding that cannot be read",
            Self::ExpectationFailed => "the request expects something other than 100-continue",
            Self::RequestTimeout => "the client sent its body too slowly",
            Self::Overloaded => "the gateway holds as many bytes in flight as it may",
            Self::Saturated => {
                "the pool is saturated and the request may be shed, or filters left no endpoint"
            }
            Self::NoEndpoints => "the pool has no endpoint that can take the request",
            Self::ShuttingDown => "the gateway is shutting down",
            Self::PickerFailed => "the endpoint picker failed and the pool fails closed",
            Self::PickerAnswered => "the endpoint picker answered with a status of its own",
            Self::BackendInvalid => "the route's backend is missing, refused or of an unknown kind",
            Self::FilterInvalid => "a filter of the route cannot be applied",
            Self::ConnectFailed => "no endpoint of the decision accepted a connection",
            Self::EndpointReset => "the endpoint broke the connection before it answered",
            Self::EndpointInvalid => "the endpoint's answer is not valid HTTP",
            Self::Timeout => "the route's time limit ran out",
            Self::Internal => "a fault of the gateway itself",
        }
    }
}

/// The client's fault: the same request fails again.
const fn client(status: StatusCode, label: &'static str) -> Row {
    row(
        status,
        "invalid_request_error",
        label,
        Source::Client,
        Retry::Never,
    )
}

/// Nobody can take the request now.
const fn overloaded(label: &'static str, source: Source, retry: Retry) -> Row {
    row(
        StatusCode::SERVICE_UNAVAILABLE,
        "overloaded_error",
        label,
        source,
        retry,
    )
}

/// Something behind the API failed.
const fn api(status: StatusCode, label: &'static str, source: Source, retry: Retry) -> Row {
    row(status, "api_error", label, source, retry)
}

const fn row(
    status: StatusCode,
    kind: &'static str,
    label: &'static str,
    source: Source,
    retry: Retry,
) -> Row {
    Row {
        status,
        kind,
        label,
        dropped: None,
        source,
        retry,
    }
}

// === impl Row ===

impl Row {
    const fn dropped(mut self, value: &'static str) -> Self {
        self.dropped = Some(value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_unique() {
        let mut labels: Vec<_> = Reason::ALL.iter().map(|r| r.row().label).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), Reason::ALL.len());
    }

    #[test]
    fn shed_load_says_so() {
        for reason in Reason::ALL {
            if reason.row().status == StatusCode::TOO_MANY_REQUESTS {
                assert!(reason.row().dropped.is_some(), "{reason:?}");
            }
        }
    }
}
