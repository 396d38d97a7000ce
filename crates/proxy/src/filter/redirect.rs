//! Redirects (Gateway API HTTPRequestRedirectFilter).

use http::HeaderValue;
use http::request::Parts;
use suimon_routing::table::Redirect;
use suimon_telemetry::Reason;

use super::rewrite::rewritten;
use super::{Origin, Redirection};
use crate::failure::Failure;

/// Builds the answer.
///
/// # Errors
/// The location is not a valid header value.
pub(super) fn answer(
    to: &Redirect,
    parts: &Parts,
    prefix: usize,
    origin: Origin<'_>,
) -> Result<Redirection, Failure> {
    let given = if origin.tls { "https" } else { "http" };
    let scheme = to.scheme.as_deref().unwrap_or(given);
    let host = to.hostname.as_deref().unwrap_or(origin.host);
    let mut location = format!("{scheme}://{host}");
    let port = port(to, origin.port);
    if default_port(scheme) != Some(port) {
        location.push(':');
        location.push_str(&port.to_string());
    }
    match &to.path {
        Some(change) => location.push_str(&rewritten(change, parts.uri.path(), prefix)),
        None => location.push_str(parts.uri.path()),
    }
    if let Some(query) = parts.uri.query() {
        location.push('?');
        location.push_str(query);
    }
    Ok(Redirection {
        status: to.status,
        location: HeaderValue::from_str(&location)
            .map_err(|_| Failure::plain(Reason::FilterInvalid))?,
    })
}

/// An explicit port; else that of an explicit scheme; else that of the listener.
fn port(to: &Redirect, listener: u16) -> u16 {
    to.port
        .or_else(|| to.scheme.as_deref().and_then(default_port))
        .unwrap_or(listener)
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use suimon_routing::table::PathRewrite;

    fn location(listener: (bool, u16), to: &Redirect, uri: &str) -> String {
        let parts = http::Request::builder()
            .uri(uri)
            .body(())
            .unwrap()
            .into_parts()
            .0;
        let origin = Origin {
            tls: listener.0,
            host: "example.org",
            port: listener.1,
        };
        let answer = answer(to, &parts, "/old".len(), origin).unwrap();
        answer.location.to_str().unwrap().to_owned()
    }

    fn redirect(scheme: Option<&str>, port: Option<u16>) -> Redirect {
        Redirect {
            scheme: scheme.map(Into::into),
            hostname: None,
            path: None,
            port,
            status: StatusCode::FOUND,
        }
    }

    #[test]
    fn ports() {
        let (http, alternative, https) = ((false, 80), (false, 8080), (true, 443));
        for (listener, scheme, port, want) in [
            (http, None, None, "http://example.org/"),
            (http, None, Some(80), "http://example.org/"),
            (http, None, Some(8080), "http://example.org:8080/"),
            (http, Some("https"), None, "https://example.org/"),
            (http, Some("https"), Some(443), "https://example.org/"),
            (http, Some("https"), Some(8443), "https://example.org:8443/"),
            (alternative, None, None, "http://example.org:8080/"),
            (alternative, None, Some(80), "http://example.org/"),
            (alternative, Some("https"), None, "https://example.org/"),
            (https, None, None, "https://example.org/"),
            (https, None, Some(8443), "https://example.org:8443/"),
            (https, Some("http"), None, "http://example.org/"),
            (https, Some("http"), Some(8080), "http://example.org:8080/"),
        ] {
            let got = location(listener, &redirect(scheme, port), "/");
            assert_eq!(got, want, "{listener:?} {scheme:?} {port:?}");
        }
    }

    #[test]
    fn path_and_query() {
        let mut to = redirect(None, None);
        to.hostname = Some("new.test".into());
        to.path = Some(PathRewrite::Prefix("/new".into()));
        let got = location((false, 80), &to, "/old/a?b=c");
        assert_eq!(got, "http://new.test/new/a?b=c");
    }
}
