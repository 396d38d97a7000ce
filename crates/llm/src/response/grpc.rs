//! Reads a response that is one gRPC message or a stream of them.

use bytes::Bytes;

use super::events::EventReader;
use super::json::JsonReader;
use crate::api_kind::ApiKind;
use crate::grpc::Messages;
use crate::usage::{Counts, Usage};
use crate::vertex::HttpBody;
use crate::vllm_grpc;

/// Reads a response that is one gRPC message or a stream of them. It passes unchanged.
#[derive(Debug)]
pub(super) struct GrpcReader {
    kind: ApiKind,
    messages: Messages,
    seen: Seen,
}

/// What the messages said so far.
#[derive(Debug, Default)]
struct Seen {
    usage: Usage,
    count: u64,
    content: Content,
}

/// The content of the messages, put together.
#[derive(Debug, Default)]
enum Content {
    #[default]
    Unknown,
    Events(EventReader),
    Json(JsonReader),
}

// === impl GrpcReader ===

impl GrpcReader {
    pub(super) fn new(kind: ApiKind) -> Self {
        Self {
            kind,
            messages: Messages::default(),
            seen: Seen::default(),
        }
    }

    pub(super) fn push(&mut self, chunk: Bytes) -> Bytes {
        let Self {
            kind,
            messages,
            seen,
        } = self;
        messages.push(&chunk, |message| {
            seen.count += 1;
            if kind.is_vertex() {
                seen.http_body(message);
            } else {
                let usage = vllm_grpc::usage(*kind, message);
                seen.usage.merge(usage.unwrap_or_default());
            }
        });
        chunk
    }

    pub(super) fn finish(&mut self) {
        match &mut self.seen.content {
            Content::Unknown => {}
            Content::Events(events) => {
                events.finish();
                self.seen.usage.merge(events.usage());
            }
            Content::Json(json) => {
                json.finish();
                self.seen.usage.merge(json.usage());
            }
        }
    }

    pub(super) const fn usage(&self) -> Usage {
        self.seen.usage
    }

    pub(super) const fn count(&self) -> u64 {
        self.seen.count
    }

    pub(super) fn held(&self) -> usize {
        let content = match &self.seen.content {
            Content::Unknown => 0,
            Content::Events(events) => events.held(),
            Content::Json(json) => json.held(),
        };
        self.messages.held() + content
    }
}

// === impl Seen ===

impl Seen {
    /// Reads an `HttpBody`. It may hold a whole document, or any part of a document or of a stream of
    /// events.
    fn http_body(&mut self, message: &[u8]) {
        let Ok(body) = HttpBody::read(message, 0..message.len()) else {
            return;
        };
        let content_type = message.get(body.content_type).unwrap_or_default();
        let data = message.get(body.data).unwrap_or_default();
        if matches!(self.content, Content::Unknown) {
            let sse = memchr::memmem::find(content_type, b"text/event-stream").is_some();
            self.content = if sse {
                Content::Events(EventReader::new(Counts::Usage, None))
            } else {
                Content::Json(JsonReader::new(Counts::Usage, None))
            };
        }
        match &mut self.content {
            Content::Unknown => {}
            Content::Events(events) => {
                events.push(Bytes::copy_from_slice(data));
                self.usage.merge(events.usage());
            }
            Content::Json(json) => {
                json.push(Bytes::copy_from_slice(data));
                let whole = Usage::from_document(data, Counts::Usage);
                self.usage.merge(whole.unwrap_or_default());
            }
        }
    }
}
