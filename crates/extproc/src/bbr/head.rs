//! What the head of a request says.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use suimon_picker::request_id;

use super::settings::Settings;
use super::{BASE_MODEL, MODEL};
use crate::message::{CommonResponse, HttpHeaders, ProcessingResponse, Reply};
use crate::session::refusal::Refusal;

/// What is kept of a head.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) id: HeaderValue,
    pub(super) grpc: bool,
    /// Names of headers that clients may not set, as they were sent.
    injected: Vec<String>,
    has_body: bool,
    is_form: bool,
    is_encoded: bool,
    length: Option<usize>,
}

/// Methods whose bodies mean nothing.
const BODILESS: [&[u8]; 5] = [b"GET", b"HEAD", b"OPTIONS", b"TRACE", b"CONNECT"];

// === impl Head ===

impl Head {
    pub(super) fn of(head: &HttpHeaders) -> Self {
        let get = |name: &HeaderName| head.get(name.as_str());
        let method = head.get(":method");
        let kind = get(&CONTENT_TYPE);
        let length = get(&CONTENT_LENGTH).and_then(|value| std::str::from_utf8(value).ok());
        let mut injected = Vec::new();
        for header in &head.headers {
            if is_ours(&header.name) && !injected.contains(&header.name) {
                injected.push(header.name.clone());
            }
        }
        let starts = |with: &[u8]| {
            let start = kind.and_then(|kind| kind.get(..with.len()));
            start.is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        let mut codings = head.headers.iter();
        Self {
            id: id(head),
            grpc: starts(b"application/grpc"),
            injected,
            has_body: !method.is_some_and(|method| BODILESS.contains(&&method[..])),
            is_form: starts(b"multipart/"),
            is_encoded: codings.any(|header| {
                header.name.eq_ignore_ascii_case(CONTENT_ENCODING.as_str())
                    && !header.value.eq_ignore_ascii_case(b"identity")
            }),
            length: length.and_then(|length| length.trim().parse().ok()),
        }
    }

    /// Whether the body is of a kind that names a model.
    pub(super) const fn may_name_a_model(&self) -> bool {
        self.has_body && !self.is_form
    }

    /// Whether the head alone says that the body cannot be read.
    pub(super) fn check(&self, settings: &Settings) -> Result<(), Refusal> {
        if self.is_encoded {
            return Err(Refusal::encoded());
        }
        if self.grpc {
            return Err(Refusal::not_json("a message of gRPC is not JSON"));
        }
        if self
            .length
            .is_some_and(|length| length > settings.body_limit)
        {
            return Err(Refusal::too_large(settings.body_limit));
        }
        Ok(())
    }

    /// The answer to the head: `common`, without what the client sent of ours.
    pub(super) fn answer(&self, mut common: CommonResponse) -> ProcessingResponse {
        for name in &self.injected {
            // Not all proxies remove before they set.
            let mut set = common.headers.set.iter();
            if !set.any(|set| set.header.name.eq_ignore_ascii_case(name)) {
                common.headers.remove(name.clone());
            }
        }
        common.clear_route_cache |= !self.injected.is_empty();
        ProcessingResponse::of(Reply::RequestHeaders(common))
    }
}

/// Whether a header is one of ours. Servers that fold `_` and `-` into one would take
/// `x_gateway_model_name` for it.
fn is_ours(name: &str) -> bool {
    [MODEL, BASE_MODEL].iter().any(|ours| {
        let same = |(a, b): (u8, u8)| a.eq_ignore_ascii_case(&b) || (a == b'_' && b == b'-');
        name.len() == ours.len() && name.bytes().zip(ours.bytes()).all(same)
    })
}

/// The request's id, a new one if the client's cannot be used.
fn id(head: &HttpHeaders) -> HeaderValue {
    let mut headers = HeaderMap::new();
    let ids = head.headers.iter();
    let ids = ids.filter(|header| {
        header
            .name
            .eq_ignore_ascii_case(request_id::HEADER.as_str())
    });
    for value in ids.filter_map(|id| HeaderValue::from_maybe_shared(id.value.clone()).ok()) {
        headers.append(request_id::HEADER, value);
    }
    request_id::establish(&mut headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_are_known_in_every_spelling() {
        for name in [
            "x-gateway-model-name",
            "X-Gateway-Base-Model-Name",
            "x_gateway_model-name",
        ] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "x-gateway-model-name-rewrite",
            "x-gateway-model",
            "x.gateway-model-name",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
