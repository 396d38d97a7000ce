//! Reads a response as it passes by: its usage, and the model's name where the client must see
//! another one.

mod events;
mod grpc;
mod json;
mod rename;

use std::sync::Arc;

use bytes::Bytes;

use crate::api_kind::ApiKind;
use crate::usage::{Counts, Usage};
use events::EventReader;
use grpc::GrpcReader;
use json::JsonReader;
use rename::Renaming;

/// Longest JSON response, in bytes, that is held to put the model's name back.
pub const DEFAULT_HOLD_LIMIT: usize = 32 * 1024 * 1024;

/// Reads one response as its bytes pass by.
///
/// Whatever the bytes are, they come out: what cannot be read passes unchanged.
#[derive(Debug)]
pub struct ResponseReader {
    mode: Mode,
}

/// The model's name to put back into a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restore {
    /// As the model server writes it.
    pub target: Arc<str>,
    /// As the client wrote it.
    pub incoming: Arc<str>,
}

#[derive(Debug)]
enum Mode {
    Events(EventReader),
    Json(JsonReader),
    Grpc(Box<GrpcReader>),
    /// Nothing to read.
    Pass,
}

// === impl ResponseReader ===

impl ResponseReader {
    /// A reader for a response of `api`, with `sse` if its content type says that it is a stream of
    /// events. The request's `stream` flag does not matter: errors come as JSON in either case.
    ///
    /// With `restore` the name in the top level of a JSON response or of an event's data, and in
    /// the place where `api` has it beside, is replaced where it is the target. A JSON response is
    /// then held until its end, as its length changes; of a stream never more than the event that
    /// is incomplete. gRPC messages pass unchanged.
    #[must_use]
    pub fn new(api: ApiKind, sse: bool, restore: Option<Restore>) -> Self {
        let renaming = restore.and_then(|restore| Renaming::new(api, &restore));
        let counts = match api {
            ApiKind::SglangGenerate => Counts::MetaInfo,
            _ => Counts::Usage,
        };
        let mode = match api {
            ApiKind::Opaque | ApiKind::CountTokens => Mode::Pass,
            _ if api.is_grpc() => Mode::Grpc(Box::new(GrpcReader::new(api))),
            _ if sse => Mode::Events(EventReader::new(counts, renaming)),
            _ => Mode::Json(JsonReader::new(counts, renaming)),
        };
        Self { mode }
    }

    /// Holds at most `limit` bytes of a JSON response, by default [`DEFAULT_HOLD_LIMIT`]. A longer
    /// one passes with the name that the model server wrote.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        if let Mode::Json(json) = &mut self.mode {
            json.set_limit(limit);
        }
        self
    }

    /// Reads `chunk` and returns what is to be sent on now; without a name to put back `chunk`
    /// itself.
    #[must_use]
    pub fn push(&mut self, chunk: Bytes) -> Bytes {
        match &mut self.mode {
            Mode::Events(events) => events.push(chunk),
            Mode::Json(json) => json.push(chunk),
            Mode::Grpc(grpc) => grpc.push(chunk),
            Mode::Pass => chunk,
        }
    }

    /// The response has ended: returns what was held.
    #[must_use]
    pub fn finish(&mut self) -> Bytes {
        match &mut self.mode {
            Mode::Events(events) => events.finish(),
            Mode::Json(json) => json.finish(),
            Mode::Grpc(grpc) => {
                grpc.finish();
                Bytes::new()
            }
            Mode::Pass => Bytes::new(),
        }
    }

    /// The usage seen so far; of a JSON response after [`finish`](Self::finish).
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        let usage = match &self.mode {
            Mode::Events(events) => events.usage(),
            Mode::Json(json) => json.usage(),
            Mode::Grpc(grpc) => grpc.usage(),
            Mode::Pass => Usage::default(),
        };
        (usage != Usage::default()).then_some(usage)
    }

    /// Events with data so far, other than the `[DONE]` that ends OpenAI's streams; or gRPC messages.
    #[must_use]
    pub fn events(&self) -> u64 {
        match &self.mode {
            Mode::Events(events) => events.count(),
            Mode::Grpc(grpc) => grpc.count(),
            Mode::Json(_) | Mode::Pass => 0,
        }
    }

    /// Bytes that are kept in memory.
    #[must_use]
    pub fn held(&self) -> usize {
        match &self.mode {
            Mode::Events(events) => events.held(),
            Mode::Json(json) => json.held(),
            Mode::Grpc(grpc) => grpc.held(),
            Mode::Pass => 0,
        }
    }
}

#[cfg(test)]
mod tests;
