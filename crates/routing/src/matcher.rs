//! Request head → rule.
//!
//! Order of the Gateway API: the socket's most specific listener for the host is chosen first and
//! alone (listener isolation), then the first of its matches that holds. Nothing is allocated, but
//! for regular expressions over values that are split or encoded.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::table::{
    Bind, HeaderMatch, Hostname, Listener, PathMatch, Protocol, QueryMatch, RankedMatch, Rule,
    ValueMatch,
};

/// Header that a route matches on for the request's model. Its value comes from the body.
pub const MODEL_HEADER: HeaderName = HeaderName::from_static("x-gateway-model-name");
/// Header that a route matches on for the base model of the request's model.
pub const BASE_MODEL_HEADER: HeaderName = HeaderName::from_static("x-gateway-base-model-name");

/// What of a request is matched.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Method.
    pub method: &'a Method,
    /// Host, lower case, without port and trailing dot.
    pub host: &'a str,
    /// Path in the form of [`crate::path::normalize`].
    pub path: &'a str,
    /// Query without `?`.
    pub query: Option<&'a str>,
    /// Headers.
    pub headers: &'a HeaderMap,
}

/// What is known of the request's model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model<'a> {
    /// The body was not read yet.
    Unread,
    /// The body was read; `None`: it names no model.
    Read(Option<&'a str>),
}

/// The rule for a request.
#[derive(Debug, Clone, Copy)]
pub struct Matched<'t> {
    /// What to do.
    pub rule: &'t Arc<Rule>,
    /// Listener that took the request.
    pub listener: &'t Listener,
    /// The prefix that matched, without trailing slash, for filters that replace it.
    pub prefix: Option<&'t str>,
}

/// What a [`Bind`] makes of a request.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'t> {
    /// A rule.
    Matched(Matched<'t>),
    /// The rule depends on the model: read the body and ask again.
    NeedsModel,
    /// No rule: 404.
    NotFound,
    /// The TLS connection was made for another listener: 421.
    Misdirected,
}

// === impl Bind ===

impl Bind {
    /// Finds the rule for a request. `sni` is the lower-case server name of its TLS connection.
    pub fn route<'t>(
        &'t self,
        head: &Head<'_>,
        sni: Option<&str>,
        model: Model<'_>,
    ) -> Outcome<'t> {
        let Some(listener) = self.listener(head.host) else {
            return Outcome::NotFound;
        };
        if self.protocol == Protocol::Https {
            // A client without SNI can only have meant a listener for all hosts.
            let connected = self.listener(sni.unwrap_or_default());
            if !connected.is_some_and(|connected| std::ptr::eq(connected, listener)) {
                return Outcome::Misdirected;
            }
        }
        listener.route(head, model)
    }

    /// The most specific listener for a lower-case host. TLS chooses certificates by it, too.
    pub fn listener(&self, host: &str) -> Option<&Listener> {
        self.listeners
            .iter()
            .find(|listener| listener.hostname.matches(host))
    }
}

// === impl Listener ===

impl Listener {
    fn route<'t>(&'t self, head: &Head<'_>, model: Model<'_>) -> Outcome<'t> {
        for candidate in &self.matches {
            match candidate.check(head, model) {
                Check::No => {}
                Check::Model => return Outcome::NeedsModel,
                Check::Yes => {
                    return Outcome::Matched(Matched {
                        rule: &candidate.rule,
                        listener: self,
                        prefix: candidate.path.prefix(),
                    });
                }
            }
        }
        Outcome::NotFound
    }
}

// === impl Hostname ===

impl Hostname {
    /// Whether a lower-case host without port is one of this pattern's.
    pub fn matches(&self, host: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Suffix(suffix) => host.len() > suffix.len() && host.ends_with(&**suffix),
            Self::Exact(exact) => **exact == *host,
        }
    }
}

// === impl RankedMatch ===

enum Check {
    Yes,
    No,
    Model,
}

impl RankedMatch {
    fn check(&self, head: &Head<'_>, model: Model<'_>) -> Check {
        let holds = self.path.matches(head.path)
            && self.hostname.matches(head.host)
            && self
                .method
                .as_ref()
                .is_none_or(|method| method == head.method)
            && self.query.iter().all(|query| query.matches(head.query));
        if !holds {
            return Check::No;
        }
        let mut unread = false;
        for header in &self.headers {
            let matches = if is_model(&header.name) {
                match model {
                    Model::Unread => {
                        unread = true;
                        true
                    }
                    Model::Read(name) => name.is_some_and(|name| header.value.matches(name)),
                }
            } else {
                header.matches(head.headers)
            };
            if !matches {
                return Check::No;
            }
        }
        if unread { Check::Model } else { Check::Yes }
    }
}

/// Whether a header's value comes from the body instead of the request's headers.
pub(crate) fn is_model(name: &HeaderName) -> bool {
    *name == MODEL_HEADER || *name == BASE_MODEL_HEADER
}

// === impl PathMatch ===

impl PathMatch {
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *path,
            Self::Prefix(prefix) => path
                .strip_prefix(&**prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Regex(regex) => regex.is_match(path),
        }
    }

    fn prefix(&self) -> Option<&str> {
        match self {
            Self::Prefix(prefix) => Some(prefix),
            Self::Exact(_) | Self::Regex(_) => None,
        }
    }
}

// === impl HeaderMatch ===

impl HeaderMatch {
    fn matches(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(&self.name).iter();
        let Some(first) = values.next() else {
            return false;
        };
        match (&self.value, values.next()) {
            (ValueMatch::Exact(exact), None) => first.as_bytes() == exact.as_bytes(),
            (ValueMatch::Exact(exact), Some(_)) => {
                is_joined(exact.as_bytes(), headers.get_all(&self.name).iter())
            }
            (ValueMatch::Regex(regex), None) => {
                first.to_str().is_ok_and(|value| regex.is_match(value))
            }
            (ValueMatch::Regex(regex), Some(_)) => {
                let values: Result<Vec<&str>, _> = headers
                    .get_all(&self.name)
                    .iter()
                    .map(HeaderValue::to_str)
                    .collect();
                values.is_ok_and(|values| regex.is_match(&values.join(",")))
            }
        }
    }
}

/// Whether `joined` is `values` with `,` between them.
fn is_joined<'v>(joined: &[u8], values: impl Iterator<Item = &'v HeaderValue>) -> bool {
    let mut rest = Some(joined);
    for value in values {
        let after = rest.and_then(|rest| rest.strip_prefix(value.as_bytes()));
        match after {
            None => return false,
            Some([]) => rest = None,
            Some([b',', next @ ..]) => rest = Some(next),
            Some(_) => return false,
        }
    }
    rest.is_none()
}

// === impl QueryMatch ===

impl QueryMatch {
    /// The first parameter of the name decides.
    fn matches(&self, query: Option<&str>) -> bool {
        query
            .unwrap_or_default()
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .find(|(name, _)| decoded(name).eq(self.name.bytes()))
            .is_some_and(|(_, value)| match &self.value {
                ValueMatch::Exact(exact) => decoded(value).eq(exact.bytes()),
                ValueMatch::Regex(regex) if !value.contains('%') => regex.is_match(value),
                ValueMatch::Regex(regex) => {
                    let value: Vec<u8> = decoded(value).collect();
                    std::str::from_utf8(&value).is_ok_and(|value| regex.is_match(value))
                }
            })
    }
}

/// Bytes after percent-decoding; what is not an encoding stays.
fn decoded(text: &str) -> impl Iterator<Item = u8> {
    let mut bytes = text.bytes();
    std::iter::from_fn(move || {
        let byte = bytes.next()?;
        let mut ahead = bytes.clone();
        if byte == b'%'
            && let (Some(high), Some(low)) =
                (ahead.next().and_then(hex), ahead.next().and_then(hex))
        {
            bytes = ahead;
            return Some(high * 16 + low);
        }
        Some(byte)
    })
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

// === impl ValueMatch ===

impl ValueMatch {
    fn matches(&self, value: &str) -> bool {
        match self {
            Self::Exact(exact) => **exact == *value,
            Self::Regex(regex) => regex.is_match(value),
        }
    }
}

#[cfg(test)]
mod tests;
