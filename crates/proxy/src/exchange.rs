//! The account of one request: filled in along the walk, closed exactly once, whatever the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderValue, Method, Uri};
use suimon_picker::record::{Outcome, Record};
use suimon_picker::{Decision, InFlight};
use suimon_routing::table::Rule;
use suimon_telemetry::Reason;

use crate::access_log::Place;
use crate::backend::{Visit, Visits};
use crate::connection::Client;
use crate::events::RequestEnd;
use crate::retry::Stop;
use crate::upstream::Answer;
use suimon_llm::ResponseReader;

/// What is known of one request. Dropping it closes the account: the in-flight share is given back,
/// the decision's record, the observer and the access log are told.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Held so that the connection knows that it is in use.
    client: Arc<Client>,
    pub(crate) id: HeaderValue,
    pub(crate) started: Instant,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) host: Box<str>,
    listener: Option<Arc<str>>,
    rule: Option<Arc<Rule>>,
    backend: Option<Arc<str>>,
    is_pool: bool,
    model: Option<Arc<str>>,
    target_model: Option<Arc<str>>,
    endpoint: Option<Arc<str>>,
    priority: i32,
    in_flight: Option<InFlight>,
    record: Option<Arc<Record>>,
    status: u16,
    reason: Option<Reason>,
    complete: bool,
    first_byte: Option<Duration>,
    pick: Option<Duration>,
    request_bytes: u64,
    response_bytes: u64,
    /// Whether bytes of the request may still come: then the connection cannot serve another one.
    unread: bool,
    /// Counts the request at a Service's endpoint.
    visit: Option<Visit>,
    tries: u32,
    streamed: bool,
    events: u64,
    prompt_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    completion_tokens: Option<u64>,
}

// === impl Exchange ===

impl Exchange {
    /// Opens the account of a request whose head has just been read.
    pub(crate) fn open(
        client: &Arc<Client>,
        parts: &http::request::Parts,
        id: HeaderValue,
    ) -> Box<Self> {
        Box::new(Self {
            client: Arc::clone(client),
            id,
            started: Instant::now(),
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            host: Box::default(),
            listener: None,
            rule: None,
            backend: None,
            is_pool: false,
            model: None,
            target_model: None,
            endpoint: None,
            priority: 0,
            in_flight: None,
            record: None,
            status: 0,
            reason: None,
            complete: false,
            first_byte: None,
            pick: None,
            request_bytes: 0,
            response_bytes: 0,
            unread: true,
            visit: None,
            tries: 0,
            streamed: false,
            events: 0,
            prompt_tokens: None,
            cached_tokens: None,
            completion_tokens: None,
        })
    }

    /// Address of the client.
    pub(crate) fn peer(&self) -> &str {
        &self.client.peer
    }

    /// The id as text.
    pub(crate) fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// A rule was found.
    pub(crate) fn routed(&mut self, listener: &Arc<str>, rule: &Arc<Rule>) {
        self.listener = Some(Arc::clone(listener));
        self.rule = Some(Arc::clone(rule));
    }

    /// A backend was chosen.
    pub(crate) fn backend(&mut self, name: &Arc<str>, is_pool: bool) {
        self.backend = Some(Arc::clone(name));
        self.is_pool = is_pool;
    }

    /// The body was read into memory, all of it.
    pub(crate) fn body_read(&mut self, bytes: usize) {
        self.request_bytes = bytes as u64;
        self.unread = false;
    }

    /// Whether bytes of the request may still come.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread
    }

    /// Time that the pick took, whether it found something or not.
    pub(crate) fn picked_within(&mut self, time: Duration) {
        self.pick = Some(time);
    }

    /// A pick was made: takes over its in-flight share.
    pub(crate) fn picked(&mut self, decision: Decision) {
        self.model = Some(decision.model.incoming);
        self.target_model = Some(decision.model.target);
        self.priority = decision.priority;
        self.in_flight = Some(decision.in_flight);
        self.record = decision.record;
    }

    /// A try begins.
    pub(crate) fn trying(&mut self, stop: &Stop) {
        if self.tries > 0 {
            self.client
                .worker
                .shared
                .observer
                .retried(self.backend.as_deref().filter(|_| self.is_pool));
        }
        self.tries += 1;
        self.endpoint = Some(Arc::clone(&stop.authority));
        let Some(member) = &stop.member else {
            self.visit = Some(Visits::begin(&self.client.worker.visits, stop.address));
            return;
        };
        let Some(in_flight) = &mut self.in_flight else {
            return;
        };
        let counted = in_flight.endpoint();
        if counted.is_some_and(|counted| !Arc::ptr_eq(counted, member)) {
            in_flight.move_to(member);
        }
    }

    /// An endpoint answered.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.status = answer.response.status().as_u16();
    }

    /// The gateway answers itself; the response is known whole.
    pub(crate) fn answered_locally(&mut self, status: u16, bytes: usize, reason: Option<Reason>) {
        self.status = status;
        self.response_bytes = bytes as u64;
        self.reason = reason;
        self.complete = true;
        if self.in_flight.is_none() && self.tries == 0 {
            self.endpoint = None;
        }
    }

    /// Bytes of the response's body go to the client.
    pub(crate) fn passed(&mut self, bytes: usize) {
        if self.first_byte.is_none() {
            self.first_byte = Some(self.started.elapsed());
        }
        self.response_bytes += bytes as u64;
    }

    /// The response was passed on to its end.
    pub(crate) fn completed(&mut self) {
        self.complete = true;
    }

    /// The response broke off.
    pub(crate) fn broke_off(&mut self, reason: Reason) {
        self.reason = Some(reason);
    }

    /// What the response's body told.
    pub(crate) fn read(&mut self, reader: &ResponseReader, streamed: bool) {
        self.streamed = streamed;
        self.events = reader.events();
        if let Some(usage) = reader.usage() {
            self.prompt_tokens = usage.prompt;
            self.completion_tokens = usage.completion;
            self.cached_tokens = usage.cached;
        }
    }

    fn outcome(&self) -> &'static str {
        match self.reason {
            Some(reason) => reason.row().label,
            None if self.complete => "completed",
            None => "client-gone",
        }
    }

    fn end(&self) -> RequestEnd<'_> {
        RequestEnd {
            id: self.id(),
            listener: text(self.listener.as_ref()),
            route: self.rule.as_ref().map_or("", |rule| &rule.route),
            backend: text(self.backend.as_ref()),
            is_pool: self.is_pool,
            model: text(self.model.as_ref()),
            target_model: text(self.target_model.as_ref()),
            endpoint: text(self.endpoint.as_ref()),
            priority: self.priority,
            method: self.method.as_str(),
            status: self.status,
            reason: self.reason,
            outcome: self.outcome(),
            duration: self.started.elapsed(),
            first_byte: self.first_byte,
            pick: self.pick,
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            events: self.events,
            streamed: self.streamed,
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            completion_tokens: self.completion_tokens,
            tries: self.tries,
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        drop(self.in_flight.take());
        let end = self.end();
        if let Some(record) = &self.record {
            // Nobody else sets it: a record belongs to one decision, a decision to one request.
            let _ = record.outcome.set(Outcome {
                status: end.status,
                served: self.endpoint.clone(),
                end: end.outcome,
                first_byte_ms: end.first_byte.map(millis),
                duration_ms: millis(end.duration),
                prompt_tokens: end.prompt_tokens,
                cached_tokens: end.cached_tokens,
                completion_tokens: end.completion_tokens,
            });
        }
        self.client.worker.shared.observer.request_ended(&end);
        if let Some(log) = &self.client.worker.shared.access_log {
            let (host, path) = (&*self.host, self.uri.path());
            log.line(
                &Place {
                    peer: self.peer(),
                    host,
                    path,
                },
                &end,
            );
        }
    }
}

fn text(value: Option<&Arc<str>>) -> &str {
    value.map_or("", |value| value)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
