//! Checks on a parsed head, and the one form that all later steps see.
//!
//! After [`check`] the URI is in origin form with a normalised path, `host` is there exactly once,
//! and no header of the client's hop is left.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, COOKIE, EXPECT, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method, Uri, Version};
use suimon_telemetry::Reason;

use crate::failure::Failure;
use crate::hop;
use crate::snapshot::Limits;
use suimon_picker::control;
use suimon_routing::path;

/// Checks a head and brings it into the one form. Gives the host: lower case, without port.
///
/// # Errors
/// The head is ambiguous, malformed or too large; see the failure's reason.
pub(crate) fn check(parts: &mut Parts, limits: &Limits) -> Result<String, Failure> {
    if parts.headers.len() > limits.headers {
        return Err(Failure::plain(Reason::HeadersTooLarge));
    }
    if parts.method == Method::CONNECT {
        return Err(Failure::bad_request("method CONNECT is not supported"));
    }
    framing(&parts.headers)?;
    expectation(&mut parts.headers)?;
    let authority = authority(parts)?;
    let host = host(authority.as_ref())?;
    // A target without authority is told by an empty field (RFC 9112 §3.2).
    let authority = authority.unwrap_or_else(|| HeaderValue::from_static(""));
    parts.headers.insert(HOST, authority);
    join_cookies(&mut parts.headers);
    origin_form(parts)?;
    hop::strip_request(&mut parts.headers).map_err(|_| {
        Failure::bad_request("the `connection` header lists a name that cannot be removed")
    })?;
    control::strip(&mut parts.headers);
    // The body knows its length; what the client wrote is not sent on (RFC 9112 §6.3).
    parts.headers.remove(CONTENT_LENGTH);
    Ok(host)
}

/// Sets headers in place of all values that they have.
pub(crate) fn set_all(headers: &mut HeaderMap, others: &HeaderMap) {
    for name in others.keys() {
        headers.remove(name);
    }
    for (name, value) in others {
        headers.append(name, value.clone());
    }
}

/// Only one transfer coding, `chunked`, once (RFC 9112 §6.1).
fn framing(headers: &HeaderMap) -> Result<(), Failure> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(());
    };
    let plain = coding.as_bytes().eq_ignore_ascii_case(b"chunked") && codings.next().is_none();
    if plain && !headers.contains_key(CONTENT_LENGTH) {
        return Ok(());
    }
    Err(Failure::bad_request(
        "ambiguous framing; send either `content-length` or `transfer-encoding: chunked`, once",
    ))
}

fn expectation(headers: &mut HeaderMap) -> Result<(), Failure> {
    for value in headers.get_all(EXPECT) {
        if !value.as_bytes().eq_ignore_ascii_case(b"100-continue") {
            return Err(Failure::plain(Reason::ExpectationFailed));
        }
    }
    headers.remove(EXPECT);
    Ok(())
}

/// HTTP/2 clients may split `cookie`; HTTP/1.1 servers expect one line (RFC 9113 §8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(COOKIE).iter();
    if lines.next().is_none() || lines.next().is_none() {
        return;
    }
    let lines: Vec<&[u8]> = headers
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if let Ok(joined) = HeaderValue::from_bytes(&lines.join(&b"; "[..])) {
        headers.insert(COOKIE, joined);
    }
}

/// The authority that the request is for, as it was written; `None` only for HTTP/1.0.
fn authority(parts: &Parts) -> Result<Option<HeaderValue>, Failure> {
    let mut hosts = parts.headers.get_all(HOST).iter();
    let header = hosts.next();
    if hosts.next().is_some() {
        return Err(Failure::bad_request("more than one `host` header"));
    }
    let Some(target) = parts.uri.authority() else {
        return match header {
            Some(host) => Ok(Some(host.clone())),
            None if parts.version == Version::HTTP_10 => Ok(None),
            None => Err(Failure::bad_request("no `host` header")),
        };
    };
    // HTTP/2 (RFC 9113 §8.3.1): both must agree. HTTP/1.1 (RFC 9112 §3.2.2): the target wins.
    let differs = header.is_some_and(|h| {
        !h.as_bytes()
            .eq_ignore_ascii_case(target.as_str().as_bytes())
    });
    if differs && parts.version == Version::HTTP_2 {
        return Err(Failure::bad_request("`host` and `:authority` differ"));
    }
    HeaderValue::from_str(target.as_str())
        .map(Some)
        .map_err(|_| invalid_host())
}

/// Lower case, without port and trailing dot.
fn host(authority: Option<&HeaderValue>) -> Result<String, Failure> {
    let Some(authority) = authority else {
        return Ok(String::new());
    };
    let text = authority.to_str().map_err(|_| invalid_host())?;
    let (name, port) = split_port(text).ok_or_else(invalid_host)?;
    let port_fits = port.is_none_or(|p| p.is_empty() || p.parse::<u16>().is_ok());
    let name_fits = if let Some(inner) = name.strip_prefix('[') {
        let inner = inner.strip_suffix(']').unwrap_or_default();
        inner.parse::<std::net::Ipv6Addr>().is_ok()
    } else {
        !name.is_empty() && name.bytes().all(is_host_byte)
    };
    if !port_fits || !name_fits {
        return Err(invalid_host());
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    Ok(name.to_ascii_lowercase())
}

fn split_port(text: &str) -> Option<(&str, Option<&str>)> {
    let name_ends = if text.starts_with('[') {
        text.find(']')? + 1
    } else {
        text.find(':').unwrap_or(text.len())
    };
    let (name, rest) = text.split_at(name_ends);
    match rest.strip_prefix(':') {
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) => Some((name, Some(port))),
        Some(_) => None,
        None => rest.is_empty().then_some((name, None)),
    }
}

/// Unreserved characters of RFC 3986 §2.3; more than DNS has, less than can confuse a parser.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

fn invalid_host() -> Failure {
    Failure::bad_request("the host is not valid")
}

fn origin_form(parts: &mut Parts) -> Result<(), Failure> {
    let given = parts.uri.path();
    let normal = path::normalize(given)
        .map_err(|_| Failure::bad_request("the path is not valid or ambiguous"))?;
    let has_authority = parts.uri.authority().is_some();
    if !has_authority && matches!(normal, std::borrow::Cow::Borrowed(_)) {
        return Ok(());
    }
    let target = match parts.uri.query() {
        Some(query) => format!("{normal}?{query}"),
        None => normal.into_owned(),
    };
    let target = PathAndQuery::from_maybe_shared(Bytes::from(target))
        .map_err(|_| Failure::bad_request("the path is not valid"))?;
    parts.uri = Uri::from(target);
    Ok(())
}

#[cfg(test)]
#[path = "head/tests.rs"]
mod tests;
