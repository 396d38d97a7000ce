//! The account of one request: filled in along the walk, closed once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use suimon_llm::Usage;
use suimon_picker::record::{Outcome, Record};
use suimon_telemetry::Reason;

use super::response::Response;

/// Told of what happens, on the thread where it happens: be quick, never block.
pub trait Observer: Send + Sync + std::fmt::Debug + 'static {
    /// A request has ended, however it ended. Called exactly once a stream that had a request.
    fn ended(&self, end: &Ended<'_>);

    /// A connection of a proxy was opened.
    fn connection_opened(&self) {}

    /// A connection of a proxy was closed.
    fn connection_closed(&self) {}
}

/// Observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

/// How one request ended. Empty text: not known, because the request ended before.
#[derive(Debug, Clone)]
pub struct Ended<'a> {
    /// Id as logged and as sent on. Never a key: clients choose it.
    pub id: &'a str,
    /// Model that the client named. Not bounded: fold it before it becomes a label.
    pub model: &'a str,
    /// Model that the endpoint was asked for.
    pub target_model: &'a str,
    /// `ip:port` of the endpoint that was picked, or that answered, where the proxy tells.
    pub endpoint: &'a str,
    /// Priority of the request's objective.
    pub priority: i32,
    /// Status of the response; 0 if none was seen.
    pub status: u16,
    /// Why the picker answered itself.
    pub reason: Option<Reason>,
    /// `completed`, `client-gone`, or the label of the reason.
    pub outcome: &'static str,
    /// From the head to the end.
    pub duration: Duration,
    /// From the head to the response's first body byte.
    pub first_byte: Option<Duration>,
    /// From the last of the request that the picker needs to the decision.
    pub pick: Option<Duration>,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the response's body, as it came.
    pub response_bytes: u64,
    /// Events of a streamed response.
    pub events: u64,
    /// Whether the response was an event stream.
    pub streamed: bool,
    /// Tokens by the engine's count.
    pub usage: Option<Usage>,
}

/// What is known of one request.
#[derive(Debug, Default)]
pub(super) struct Account {
    id: Option<HeaderValue>,
    started: Option<Instant>,
    asked: Option<Instant>,
    model: Option<Arc<str>>,
    target: Option<Arc<str>>,
    endpoint: Option<Arc<str>>,
    record: Option<Arc<Record>>,
    priority: i32,
    status: u16,
    reason: Option<Reason>,
    complete: bool,
    first_byte: Option<Duration>,
    pick: Option<Duration>,
    request_bytes: u64,
    response_bytes: u64,
    events: u64,
    streamed: bool,
    usage: Option<Usage>,
}

impl Observer for Silent {
    fn ended(&self, _end: &Ended<'_>) {}
}

// === impl Account ===

impl Account {
    pub(super) fn open(&mut self, id: &HeaderValue, now: Instant) {
        self.id = Some(id.clone());
        self.started = Some(now);
    }

    pub(super) fn id(&self) -> &str {
        let id = self.id.as_ref();
        id.and_then(|id| id.to_str().ok()).unwrap_or_default()
    }

    pub(super) fn asked(&mut self, bytes: usize, now: Instant) {
        self.request_bytes = bytes as u64;
        self.asked = Some(now);
    }

    pub(super) fn picked(&mut self, now: Instant) {
        let asked = self.asked;
        self.pick = asked.map(|asked| now.saturating_duration_since(asked));
    }

    pub(super) fn decided(&mut self, response: &Response) {
        if let Some(route) = response.route() {
            self.model = Some(Arc::clone(&route.model.incoming));
            self.target = Some(Arc::clone(&route.model.target));
            self.priority = route.priority;
            self.record.clone_from(&route.record);
        }
        self.read(response);
    }

    pub(super) fn refused(&mut self, reason: Reason) {
        self.reason = Some(reason);
        self.status = reason.row().status.as_u16();
    }

    pub(super) fn answered(&mut self, status: u16) {
        self.status = status;
    }

    pub(super) fn passed(&mut self, bytes: usize, now: Instant) {
        if bytes > 0 && self.first_byte.is_none() {
            let started = self.started;
            self.first_byte = started.map(|started| now.saturating_duration_since(started));
        }
        self.response_bytes += bytes as u64;
    }

    pub(super) fn completed(&mut self) {
        self.complete = true;
    }

    /// Takes what the response tells so far.
    pub(super) fn read(&mut self, response: &Response) {
        let endpoint = response.route().and_then(|route| route.endpoint());
        if let Some(endpoint) = endpoint {
            self.endpoint = Some(Arc::clone(endpoint.authority()));
        }
        if let Some(reader) = response.reader() {
            self.events = reader.reader.events();
            self.usage = reader.reader.usage();
            self.streamed = reader.sse;
        }
    }

    /// Completes the decision's record and tells the rest.
    pub(super) fn close(&self, now: Instant) -> Option<Ended<'_>> {
        let started = self.started?;
        let end = self.end(now.saturating_duration_since(started));
        if let Some(record) = &self.record {
            let usage = end.usage.unwrap_or_default();
            // Nobody else sets it: a record belongs to one decision, a decision to one request.
            let _ = record.outcome.set(Outcome {
                status: end.status,
                served: self.endpoint.clone(),
                end: end.outcome,
                first_byte_ms: end.first_byte.map(millis),
                duration_ms: millis(end.duration),
                prompt_tokens: usage.prompt,
                cached_tokens: usage.cached,
                completion_tokens: usage.completion,
            });
        }
        Some(end)
    }

    fn end(&self, duration: Duration) -> Ended<'_> {
        let outcome = match self.reason {
            Some(reason) => reason.row().label,
            None if self.complete => "completed",
            None => "client-gone",
        };
        Ended {
            id: self.id(),
            model: self.model.as_deref().unwrap_or_default(),
            target_model: self.target.as_deref().unwrap_or_default(),
            endpoint: self.endpoint.as_deref().unwrap_or_default(),
            priority: self.priority,
            status: self.status,
            reason: self.reason,
            outcome,
            duration,
            first_byte: self.first_byte,
            pick: self.pick,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            events: self.events,
            streamed: self.streamed,
            usage: self.usage,
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
