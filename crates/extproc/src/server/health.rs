//! `grpc.health.v1.Health`: `Check` and `List`.
//! <https://github.com/grpc/grpc/blob/master/doc/health-checking.md>

use std::sync::Arc;

use bytes::Bytes;

use super::Shared;
use super::stream::{Broken, Inbox, Stream};
use crate::grpc::{Code, frame};
use crate::wire::{Encode, Reader, Sink};

/// Says whether requests are taken.
pub trait Health: Send + Sync + std::fmt::Debug + 'static {
    /// Whether `service` can be used; `None`: there is no such service. The empty name is the whole
    /// server. While the server drains, nothing but `liveness` is said to be serving, whatever this says.
    fn serving(&self, service: &str) -> Option<bool>;

    /// Names that [`Health::serving`] knows.
    fn services(&self) -> &[&'static str];
}

/// Always ready.
#[derive(Debug, Clone, Copy, Default)]
pub struct Serving;

/// Names that a check of an endpoint picker may ask for.
const SERVICES: &[&str] = &[
    "",
    "envoy.service.ext_proc.v3.ExternalProcessor",
    LIVENESS,
    "readiness",
];

/// The service that is well as long as the process answers.
const LIVENESS: &str = "liveness";

/// A `ServingStatus`, in a message of its own: `HealthCheckResponse`.
struct Status(u64);

/// `HealthListResponse`: names with responses.
struct Statuses(Vec<(&'static str, Status)>);

struct Entry<'a>(&'a str, &'a Status);

impl Health for Serving {
    fn serving(&self, service: &str) -> Option<bool> {
        SERVICES.contains(&service).then_some(true)
    }

    fn services(&self) -> &[&'static str] {
        SERVICES
    }
}

/// `Check`.
pub(crate) async fn check(mut stream: Stream, shared: Arc<Shared>) {
    let Ok(service) = service(&mut stream.inbox).await else {
        stream.refuse(Code::InvalidArgument, "not a health check");
        return;
    };
    match shared.health.serving(&service) {
        None => stream.refuse(Code::NotFound, "no such service"),
        Some(serving) => answer(stream, Status::of(&service, serving, &shared)).await,
    }
}

/// `List`.
pub(crate) async fn list(stream: Stream, shared: Arc<Shared>) {
    let services = shared.health.services().iter();
    let statuses = services.filter_map(|name| {
        let serving = shared.health.serving(name)?;
        Some((*name, Status::of(name, serving, &shared)))
    });
    let statuses = Statuses(statuses.collect());
    answer(stream, statuses).await;
}

async fn answer(mut stream: Stream, message: impl Encode) {
    // A peer that has gone cannot be told.
    if stream.outbox.send(frame(&[message])).await.is_ok() {
        stream.outbox.end(Code::Ok, "");
    }
}

/// The service that a `HealthCheckRequest` names.
async fn service(inbox: &mut Inbox) -> Result<String, Broken> {
    let message = loop {
        if let Some(message) = inbox.next()? {
            break message;
        }
        if !inbox.more().await? {
            break Bytes::new();
        }
    };
    let (mut reader, mut service) = (Reader::new(&message), String::new());
    while let Some(field) = reader.next()? {
        if field.number == 1 {
            field.text()?.clone_into(&mut service);
        }
    }
    Ok(service)
}

// === impl Status ===

impl Status {
    const SERVING: u64 = 1;
    const NOT_SERVING: u64 = 2;

    /// While the server drains only its process is well.
    fn of(service: &str, serving: bool, shared: &Shared) -> Self {
        let draining = *shared.draining.borrow() && service != LIVENESS;
        Self(if serving && !draining {
            Self::SERVING
        } else {
            Self::NOT_SERVING
        })
    }
}

impl Encode for Status {
    fn fields(&self, sink: &mut impl Sink) {
        sink.number(1, self.0);
    }
}

// === impl Statuses ===

impl Encode for Statuses {
    fn fields(&self, sink: &mut impl Sink) {
        for (name, status) in &self.0 {
            sink.message(1, &Entry(name, status));
        }
    }
}

impl Encode for Entry<'_> {
    fn fields(&self, sink: &mut impl Sink) {
        sink.bytes_or_default(1, self.0.as_bytes());
        sink.message(2, self.1);
    }
}
