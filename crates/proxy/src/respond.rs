//! Heads of responses: those of endpoints, redirects, and errors.

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use http_body::Body as _;
use hyper::body::Incoming;
use suimon_routing::table::Rule;
use suimon_telemetry::Reason;

use crate::backend::{Following, Served};
use crate::exchange::Exchange;
use crate::failure::Failure;
use crate::filter::{self, Redirection};
use crate::snapshot::Limits;
use crate::source::Source;
use crate::stream::{Reading, ResponseBody, Streaming};
use crate::{hop, timeouts};
use suimon_llm::{ResponseReader, error_body};
use suimon_picker::{DirectAnswer, FollowError, control, request_id};

/// Seconds after which a client that was turned away may come again.
const RETRY_AFTER_SECONDS: &str = "1";

/// An endpoint's answer, as it goes to the client.
pub(crate) async fn served(
    served: Served,
    rule: &Rule,
    backend: usize,
    exchange: Box<Exchange>,
    limits: &Limits,
) -> Response<ResponseBody> {
    let mut served = served;
    if let Some(upgrade) = served.upgrade.take() {
        return upgrade.agreed(served.answer.response, exchange);
    }
    let reading = reading(&served, limits);
    let whole = reading.as_ref().is_some_and(|r| r.restores && !r.sse);
    let (mut parts, body) = served.answer.response.into_parts();
    hop::strip_response(&mut parts.headers);
    let body = match source(served.following, &mut parts, body).await {
        Ok(body) => body,
        Err(failed) => return failure(&failed, *exchange, Version::HTTP_11),
    };
    filter::edit_response(&mut parts.headers, &rule.filters);
    if let Some(chosen) = rule.backends.get(backend) {
        filter::edit_response(&mut parts.headers, &chosen.filters);
    }
    parts
        .headers
        .insert(request_id::HEADER, exchange.id.clone());
    parts.version = Version::HTTP_11;
    if reading.as_ref().is_some_and(|r| r.restores) {
        // The length changes with the name; the body knows the new one, or it is chunked.
        parts.headers.remove(CONTENT_LENGTH);
    }
    let limit = &rule.timeouts;
    let started = exchange.started;
    let deadline = timeouts::deadline(limit.request, started, limit.backend_request, served.tried);
    let mut stream = Streaming::new(body, served.answer.lease, exchange, reading, deadline);
    if whole {
        stream = match stream.gather(limits.body_bytes).await {
            Ok(stream) => stream,
            Err((exchange, reason)) => {
                return failure(&Failure::plain(reason), *exchange, Version::HTTP_11);
            }
        };
    }
    Response::from_parts(parts, ResponseBody::Streaming(Box::new(stream)))
}

/// Where the body comes from. A picker that follows the answer sees its head first.
async fn source(
    following: Option<Following>,
    head: &mut http::response::Parts,
    body: Incoming,
) -> Result<Source, Failure> {
    let Some(Following {
        mut follow,
        served,
        fail_open,
    }) = following
    else {
        return Ok(Source::Endpoint(body));
    };
    match follow.head(served, head, body.is_end_stream()).await {
        Ok(()) => {
            head.headers.remove(CONTENT_LENGTH);
            Ok(Source::followed(body, follow, fail_open))
        }
        Err(FollowError::Answered(answer)) => Err(Failure::answered(*answer)),
        Err(error @ FollowError::Failed(_)) => {
            tracing::debug!(%error, "response head");
            let open = fail_open.then_some(Source::Endpoint(body));
            open.ok_or_else(|| Failure::plain(Reason::PickerFailed))
        }
    }
}

/// How to read the answer's body: by what it is, never by what was asked for.
fn reading(served: &Served, limits: &Limits) -> Option<Reading> {
    let headers = served.answer.response.headers();
    if headers.contains_key(CONTENT_ENCODING) || served.answer.response.body().is_end_stream() {
        return None;
    }
    let media_type = media_type(headers)?;
    if !served.api.answers_with(media_type) {
        return None;
    }
    let sse = media_type.eq_ignore_ascii_case(b"text/event-stream");
    let restore = served.restore.clone();
    Some(Reading {
        restores: restore.is_some(),
        sse,
        reader: ResponseReader::new(served.api, sse, restore).with_limit(limits.body_bytes),
    })
}

fn media_type(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes();
    let end = memchr::memchr(b';', value).unwrap_or(value.len());
    value.get(..end).map(<[u8]>::trim_ascii)
}

/// A redirect.
pub(crate) fn redirect(
    to: Redirection,
    mut exchange: Exchange,
    version: Version,
) -> Response<ResponseBody> {
    exchange.answered_locally(to.status.as_u16(), 0, None);
    let mut response = Response::new(ResponseBody::Full(Bytes::new()));
    *response.status_mut() = to.status;
    let headers = response.headers_mut();
    headers.insert(LOCATION, to.location);
    headers.insert(request_id::HEADER, exchange.id.clone());
    if version < Version::HTTP_2 && exchange.is_unread() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// An error in the form of the OpenAI API.
pub(crate) fn failure(
    failure: &Failure,
    mut exchange: Exchange,
    version: Version,
) -> Response<ResponseBody> {
    if let Some(answer) = &failure.answer {
        return direct(answer, failure.reason, exchange);
    }
    let row = failure.reason.row();
    let body = error_body(failure.reason, &failure.message, exchange.id());
    exchange.answered_locally(row.status.as_u16(), body.len(), Some(failure.reason));
    let mut response = Response::new(ResponseBody::Full(body));
    *response.status_mut() = row.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(request_id::HEADER, exchange.id.clone());
    if let Some(dropped) = row.dropped {
        headers.insert(control::DROPPED, HeaderValue::from_static(dropped));
    }
    if is_busy(row.status) {
        headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
    }
    // What is left of the body is not read: the next request must not be looked for in it.
    if version < Version::HTTP_2 && (exchange.is_unread() || failure.reason == Reason::BadRequest) {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// What a foreign picker answered, as it is. The body was read before it was asked.
fn direct(answer: &DirectAnswer, reason: Reason, mut exchange: Exchange) -> Response<ResponseBody> {
    let body = answer.body.clone();
    exchange.answered_locally(answer.status.as_u16(), body.len(), Some(reason));
    let mut response = Response::new(ResponseBody::Full(body));
    *response.status_mut() = answer.status;
    let mut headers = answer.headers.clone();
    hop::strip_response(&mut headers);
    headers.remove(CONTENT_LENGTH);
    headers.insert(request_id::HEADER, exchange.id.clone());
    *response.headers_mut() = headers;
    response
}

fn is_busy(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE
}
