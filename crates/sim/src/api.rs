//! The HTTP endpoints, and what they share.

pub(crate) mod admin;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod embeddings;
pub(crate) mod generate;
pub(crate) mod messages;
pub(crate) mod models;
mod prompt;
pub(crate) mod tokenize;
mod usage;

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{Either, Full};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::unix_seconds;
use crate::engine::{Engine, Sampling};
use crate::error::ApiError;
use crate::event_stream::{EventStream, Render};
use crate::sequence::Generation;

/// A body that is known, or one that is generated while it is sent.
pub(crate) type ReplyBody = Either<Full<Bytes>, EventStream>;

/// An answer, or the error to answer with.
pub(crate) type Reply = Result<Response<ReplyBody>, ApiError>;

/// A request whose body has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) engine: Arc<Engine>,
    pub(crate) headers: HeaderMap,
    /// Query of the request target, empty if there is none.
    pub(crate) query: String,
    pub(crate) body: Bytes,
}

/// What all parts of an answer repeat.
#[derive(Clone, Debug)]
struct Head {
    id: String,
    /// Seconds since the Unix epoch.
    created: u64,
    model: String,
}

/// `system_fingerprint` of the version that is simulated.
const FINGERPRINT: &str = "vllm-0.32.0-48769958";

/// Most sequences one request may ask for.
const MAX_SEQUENCES: usize = 128;

// === impl Call ===

impl Call {
    /// Parses the body.
    fn parse<T: DeserializeOwned>(&self, required: &[&str]) -> Result<T, ApiError> {
        let body: Value = serde_json::from_slice(&self.body).map_err(|error| {
            let place = format!("body.{}", offset(&self.body, error.line(), error.column()));
            ApiError::validation("json_invalid", &place, "JSON decode error")
        })?;
        let fields = body.as_object().map_or(0, serde_json::Map::len);
        for name in required {
            if body.get(name).is_none_or(Value::is_null) {
                return Err(ApiError::missing_field(name, fields));
            }
        }
        serde_json::from_value(body)
            .map_err(|error| ApiError::validation("value_error", "body", &error.to_string()))
    }

    /// Head of an answer whose id starts with `prefix`; the rest is the request's own id, if any.
    fn head(&self, prefix: &str, model: &str) -> Head {
        let given = self
            .headers
            .get("x-request-id")
            .and_then(|value| value.to_str().ok());
        let id = given.map_or_else(|| self.engine.random_id(), ToOwned::to_owned);
        Head {
            id: format!("{prefix}{id}"),
            created: unix_seconds() as u64,
            model: model.to_owned(),
        }
    }
}

/// Byte offset of a parser's line and column, which count from 1.
fn offset(body: &[u8], line: usize, column: usize) -> usize {
    let before: usize = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(line.saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    before + column.saturating_sub(1)
}

/// Sampling parameters shared by the OpenAI forms.
fn sampling(max: Option<usize>, ignore_eos: Option<bool>, salt: Option<String>) -> Sampling {
    Sampling {
        max_tokens: max,
        ignore_eos: ignore_eos.unwrap_or(false),
        cache_salt: salt.unwrap_or_default(),
    }
}

/// Checks `n` together with the number of prompts.
fn sequences(n: Option<usize>, prompts: usize) -> Result<usize, ApiError> {
    let n = n.unwrap_or(1);
    if n == 0 || n.saturating_mul(prompts) > MAX_SEQUENCES {
        let text =
            format!("n must be at least 1 and give at most {MAX_SEQUENCES} choices, got {n}.");
        return Err(ApiError::bad_request(text).with_param("n"));
    }
    Ok(n)
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response<ReplyBody> {
    full(status, "application/json", body.to_string())
}

/// An answer with a known body.
pub(crate) fn full(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<ReplyBody> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A streamed answer.
fn events(generation: Generation, render: impl Render + 'static) -> Response<ReplyBody> {
    let mut response = Response::new(Either::Right(EventStream::new(generation, render)));
    let content_type = HeaderValue::from_static("text/event-stream; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_json_error_is_a_byte_offset() {
        for text in ["{\"model\": \"tiny\",}", "{\n\"a\": 1,\n  oops}"] {
            let error = serde_json::from_str::<Value>(text).unwrap_err();
            let at = offset(text.as_bytes(), error.line(), error.column());
            assert!(matches!(text.as_bytes()[at], b'}' | b'o'), "{text}: {at}");
        }
    }
}
