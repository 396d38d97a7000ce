//! Headers that end at the next hop (RFC 9110 §7.6.1), removed both ways.

use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};
use smallvec::SmallVec;

static ALWAYS: [HeaderName; 7] = [
    CONNECTION,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    PROXY_AUTHENTICATE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Names that a `Connection` header may not list: removing them would change what the request
/// means, or get it past a check.
const NEVER_NOMINATED: &[&str] = &[
    "host",
    "content-length",
    "content-type",
    "content-encoding",
    "authorization",
    "cookie",
    "x-request-id",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// A `Connection` header lists a name that must not be removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Nominated;

/// Removes what is for this hop from a request. `te: trailers` stays: gRPC needs it.
///
/// # Errors
/// A listed name must not be removed.
pub(crate) fn strip_request(headers: &mut HeaderMap) -> Result<(), Nominated> {
    let trailers = wants_trailers(headers);
    if headers.contains_key(CONNECTION) {
        let listed = nominated(headers);
        if listed
            .iter()
            .any(|name| NEVER_NOMINATED.contains(&name.as_str()))
        {
            return Err(Nominated);
        }
        for name in listed {
            headers.remove(name);
        }
    }
    remove_always(headers);
    headers.remove(TRAILER);
    headers.remove(PROXY_AUTHORIZATION);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    Ok(())
}

/// Removes what is for this hop from a response. `trailer` stays: HTTP/1.1 sends on only trailers
/// that it announces.
pub(crate) fn strip_response(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        for name in nominated(headers) {
            if !NEVER_NOMINATED.contains(&name.as_str()) {
                headers.remove(name);
            }
        }
    }
    remove_always(headers);
}

/// Removes from trailers what would change how a message is read.
pub(crate) fn strip_trailers(trailers: &mut HeaderMap) {
    remove_always(trailers);
    trailers.remove(TRAILER);
    trailers.remove(CONTENT_LENGTH);
    trailers.remove(HOST);
    suimon_picker::control::strip(trailers);
}

fn remove_always(headers: &mut HeaderMap) {
    for name in &ALWAYS {
        headers.remove(name);
    }
}

fn nominated(headers: &HeaderMap) -> SmallVec<[HeaderName; 2]> {
    headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|b| *b == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

fn wants_trailers(headers: &HeaderMap) -> bool {
    headers.get_all(TE).iter().any(|value| {
        value
            .as_bytes()
            .split(|b| *b == b',')
            .any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines
            .iter()
            .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn listed_names_go_with_connection() {
        let mut map = headers(&[
            ("connection", "x-internal-auth, close"),
            ("x-internal-auth", "1"),
            ("te", "trailers, gzip"),
            ("trailer", "x-t"),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
            ("keep-alive", "5"),
            ("accept", "*/*"),
        ]);
        assert_eq!(strip_request(&mut map), Ok(()));
        assert_eq!(map, headers(&[("accept", "*/*"), ("te", "trailers")]));
    }

    #[test]
    fn names_that_matter_cannot_be_listed() {
        for name in ["Host", "authorization", "close, Content-Length"] {
            let mut map = headers(&[("connection", name)]);
            assert_eq!(strip_request(&mut map), Err(Nominated), "{name}");
        }
    }
}
