//! What the gateway tells the picker of a request and of a response.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, response};
use suimon_picker::{PickRequest, control};

use crate::message::{
    BodyMode, Header, HttpBody, HttpHeaders, Metadata, Part, ProcessingRequest, ProtocolConfig,
    Struct, Value,
};

/// Bytes of a body in one message: gRPC servers take 4 MiB, Envoy sends less than this.
const PIECE: usize = 62_000;

/// The namespace of the endpoint that was chosen, and of the one that served.
pub(super) const NAMESPACE: &str = "envoy.lb";

/// The messages about a request, all of them.
pub(super) fn request(request: &PickRequest<'_>) -> Vec<ProcessingRequest> {
    let mut messages = vec![ProcessingRequest {
        part: Some(Part::RequestHeaders(HttpHeaders {
            headers: request_headers(request),
            end_of_stream: request.bytes.is_empty(),
        })),
        protocol: Some(ProtocolConfig {
            request_body: BodyMode::FULL_DUPLEX_STREAMED,
            response_body: BodyMode::FULL_DUPLEX_STREAMED,
            body_without_waiting: true,
        }),
        ..ProcessingRequest::default()
    }];
    let mut rest = request.bytes.clone();
    while !rest.is_empty() {
        let body = rest.split_to(rest.len().min(PIECE));
        messages.push(ProcessingRequest::of(Part::RequestBody(HttpBody {
            body,
            end_of_stream: rest.is_empty(),
        })));
    }
    messages
}

fn request_headers(request: &PickRequest<'_>) -> Vec<Header> {
    let target = match request.query {
        Some(query) => format!("{}?{query}", request.path),
        None => request.path.to_owned(),
    };
    let host = request.headers.get(HOST);
    let mut headers = vec![
        Header::new(
            ":method",
            Bytes::copy_from_slice(request.method.as_str().as_bytes()),
        ),
        Header::new(":scheme", "http"),
        Header::new(":authority", host.map_or_else(Bytes::new, bytes)),
        Header::new(":path", target),
    ];
    headers.extend(fields(request.headers));
    if !request.bytes.is_empty() {
        let length = request.bytes.len().to_string();
        headers.push(Header::new(CONTENT_LENGTH.as_str(), length));
    }
    headers
}

/// The message about the head of the response that `served` gave.
pub(super) fn response(
    served: SocketAddr,
    head: &response::Parts,
    end_of_stream: bool,
) -> ProcessingRequest {
    let mut headers = vec![Header::new(":status", head.status.as_str().to_owned())];
    headers.extend(fields(&head.headers));
    let served = Struct::of(control::SERVED.as_str(), Value::Text(served.to_string()));
    ProcessingRequest {
        part: Some(Part::ResponseHeaders(HttpHeaders {
            headers,
            end_of_stream,
        })),
        metadata: Some(Metadata {
            filter: vec![(NAMESPACE.to_owned(), served)],
        }),
        ..ProcessingRequest::default()
    }
}

/// Headers or trailers, `host` apart.
pub(super) fn fields(headers: &HeaderMap) -> impl Iterator<Item = Header> {
    let fields = headers.iter().filter(|(name, _)| *name != HOST);
    fields.map(|(name, value)| Header::new(name.as_str(), bytes(value)))
}

fn bytes(value: &http::HeaderValue) -> Bytes {
    Bytes::copy_from_slice(value.as_bytes())
}
