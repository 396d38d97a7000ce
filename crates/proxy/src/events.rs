//! What others are told of each request.

use std::time::Duration;

use suimon_telemetry::Reason;

/// Told of what happens in the data plane, on the thread where it happens: be quick, never block.
pub trait Observer: Send + Sync + 'static {
    /// A request has ended, however it ended. Called exactly once a request.
    fn request_ended(&self, end: &RequestEnd<'_>);

    /// A try at an endpoint failed before an answer and another one follows.
    fn retried(&self, pool: Option<&str>) {
        let _ = pool;
    }

    /// A client connection was opened.
    fn connection_opened(&self) {}

    /// A client connection was closed.
    fn connection_closed(&self) {}
}

/// How one request ended. Empty text: not known, because the request ended before.
#[derive(Debug, Clone)]
pub struct RequestEnd<'a> {
    /// Id as logged and as sent to the client.
    pub id: &'a str,
    /// `namespace/gateway/listener`.
    pub listener: &'a str,
    /// `namespace/name` of the route.
    pub route: &'a str,
    /// `namespace/name` of the pool, or `namespace/name:port` of the Service.
    pub backend: &'a str,
    /// Whether the backend is an InferencePool.
    pub is_pool: bool,
    /// Model that the client named. Not bounded: fold it before it becomes a label.
    pub model: &'a str,
    /// Model that the endpoint was asked for.
    pub target_model: &'a str,
    /// `ip:port` of the endpoint that answered.
    pub endpoint: &'a str,
    /// Priority of the request's objective.
    pub priority: i32,
    /// Method.
    pub method: &'a str,
    /// Status of the response; 0 when the client left before there was one.
    pub status: u16,
    /// Why the gateway answered itself or broke the response off.
    pub reason: Option<Reason>,
    /// `completed`, `client-gone`, or the label of the reason.
    pub outcome: &'static str,
    /// From the head to the end.
    pub duration: Duration,
    /// From the head to the response's first body byte.
    pub first_byte: Option<Duration>,
    /// Time that the pick took, with any wait in a queue.
    pub pick: Option<Duration>,
    /// Bytes of the request's body, as far as they were read.
    pub request_bytes: u64,
    /// Bytes of the response's body, as far as they were passed on.
    pub response_bytes: u64,
    /// Events of a streamed response.
    pub events: u64,
    /// Whether the response was an event stream.
    pub streamed: bool,
    /// Prompt tokens by the engine's count.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens found in the engine's cache.
    pub cached_tokens: Option<u64>,
    /// Tokens generated.
    pub completion_tokens: Option<u64>,
    /// Tries at endpoints.
    pub tries: u32,
}

/// Observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn request_ended(&self, _end: &RequestEnd<'_>) {}
}
