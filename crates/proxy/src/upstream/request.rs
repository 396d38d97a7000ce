//! A request on its way to an endpoint, so that it can be sent again.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Method, Request, Uri, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::SendError;
use crate::hop;

/// Head of a request to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestHead<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a PathAndQuery,
    /// With `host`, without `content-length`: the body knows its own.
    pub(crate) headers: &'a HeaderMap,
}

/// Body of a request to send.
#[derive(Debug)]
pub(crate) enum Outgoing {
    /// In memory: can be sent again.
    Kept {
        bytes: Bytes,
        trailers: Option<HeaderMap>,
    },
    /// As it comes from the client; `None` once it was sent.
    Passing(Option<Incoming>),
}

/// A body as hyper takes it.
#[derive(Debug)]
pub(crate) enum RequestBody {
    Kept {
        bytes: Bytes,
        trailers: Option<HeaderMap>,
    },
    Passing(Incoming),
}

// === impl RequestHead ===

impl RequestHead<'_> {
    /// As HTTP/1.1: origin form, `host` as a header.
    pub(super) fn http1(&self, body: RequestBody) -> Request<RequestBody> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from(self.path.clone());
        *request.headers_mut() = self.headers.clone();
        request
    }

    /// As HTTP/2: `host` becomes the authority.
    pub(super) fn http2(&self, body: RequestBody) -> Result<Request<RequestBody>, SendError> {
        let mut headers = self.headers.clone();
        let authority = headers
            .remove(HOST)
            .and_then(|host| {
                Authority::from_maybe_shared(Bytes::copy_from_slice(host.as_bytes())).ok()
            })
            .ok_or(SendError::Unsendable)?;
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(authority);
        parts.path_and_query = Some(self.path.clone());
        let mut request = Request::new(body);
        *request.version_mut() = Version::HTTP_2;
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = Uri::from_parts(parts).map_err(|_| SendError::Unsendable)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

// === impl Outgoing ===

impl Outgoing {
    /// Whether it can be sent again after it was taken.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Kept { .. })
    }

    /// The body to send; `None` when it was taken before and is gone.
    pub(super) fn take(&mut self) -> Option<RequestBody> {
        match self {
            Self::Kept { bytes, trailers } => Some(RequestBody::Kept {
                bytes: bytes.clone(),
                trailers: trailers.clone(),
            }),
            Self::Passing(body) => body.take().map(RequestBody::Passing),
        }
    }

    /// Gives back a body that was not sent.
    pub(super) fn restore(&mut self, unsent: RequestBody) {
        if let (Self::Passing(place), RequestBody::Passing(body)) = (self, unsent) {
            *place = Some(body);
        }
    }
}

// === impl RequestBody ===

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            Self::Kept { bytes, .. } if !bytes.is_empty() => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes)))))
            }
            Self::Kept { trailers, .. } => {
                Poll::Ready(trailers.take().map(|t| Ok(Frame::trailers(clean(t)))))
            }
            Self::Passing(body) => {
                Pin::new(body)
                    .poll_frame(cx)
                    .map_ok(|frame| match frame.into_trailers() {
                        Ok(trailers) => Frame::trailers(clean(trailers)),
                        Err(frame) => frame,
                    })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Kept { bytes, trailers } => bytes.is_empty() && trailers.is_none(),
            Self::Passing(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            // With trailers the length must not be told: HTTP/1 could not send them.
            Self::Kept {
                trailers: Some(_), ..
            } => SizeHint::default(),
            Self::Kept { bytes, .. } => SizeHint::with_exact(bytes.len() as u64),
            Self::Passing(body) => body.size_hint(),
        }
    }
}

fn clean(mut trailers: HeaderMap) -> HeaderMap {
    hop::strip_trailers(&mut trailers);
    trailers
}
