//! Changes to headers, as far as a picker may make them.

use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode, response};

use crate::message::{AppendAction, HeaderMutation, SetHeader};

/// Headers that say how the message is framed, or belong to this hop: the gateway's own business.
/// Pickers echo them with the rest.
static OURS: [HeaderName; 13] = [
    HOST,
    CONTENT_LENGTH,
    TRANSFER_ENCODING,
    CONNECTION,
    TE,
    TRAILER,
    UPGRADE,
    EXPECT,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("x-request-id"),
];

/// What `changes` make of a request with `headers`: names to remove, and then headers to set.
pub(super) fn request(
    changes: &HeaderMutation,
    headers: &HeaderMap,
) -> (Vec<HeaderName>, HeaderMap) {
    let remove: Vec<_> = changes.remove.iter().filter_map(|name| own(name)).collect();
    let mut set = HeaderMap::new();
    for change in &changes.set {
        let Some((name, value)) = pair(change) else {
            continue;
        };
        let there = !remove.contains(&name) && headers.contains_key(&name);
        if !applies(change, there || set.contains_key(&name)) {
            continue;
        }
        if change.overwrites() {
            set.insert(name, value);
            continue;
        }
        if there && !set.contains_key(&name) {
            let before = headers.get_all(&name);
            before.iter().for_each(|before| {
                set.append(&name, before.clone());
            });
        }
        set.append(name, value);
    }
    (remove, set)
}

/// Applies `changes` to the head of a response.
pub(super) fn response(changes: &HeaderMutation, head: &mut response::Parts) {
    let status = changes.set.iter().find(|set| set.header.name == ":status");
    let status = status.and_then(|set| StatusCode::from_bytes(&set.header.value).ok());
    head.status = status
        .filter(|status| is_final(*status))
        .unwrap_or(head.status);
    headers(changes, &mut head.headers);
}

/// Applies `changes` to headers or trailers.
pub(super) fn headers(changes: &HeaderMutation, headers: &mut HeaderMap) {
    for name in changes.remove.iter().filter_map(|name| own(name)) {
        headers.remove(name);
    }
    for change in &changes.set {
        let Some((name, value)) = pair(change) else {
            continue;
        };
        match applies(change, headers.contains_key(&name)) {
            true if change.overwrites() => drop(headers.insert(name, value)),
            true => drop(headers.append(name, value)),
            false => {}
        }
    }
}

/// Whether the status can end an exchange.
pub(super) fn is_final(status: StatusCode) -> bool {
    !status.is_informational()
}

/// Whether a change depends on a header that is there or not, and on which.
fn applies(change: &SetHeader, there: bool) -> bool {
    match change.action {
        AppendAction::ADD_IF_ABSENT => !there,
        AppendAction::OVERWRITE_IF_EXISTS => there,
        _ => true,
    }
}

fn pair(change: &SetHeader) -> Option<(HeaderName, HeaderValue)> {
    let name = own(&change.header.name)?;
    let value = HeaderValue::from_maybe_shared(change.header.value.clone()).ok()?;
    Some((name, value))
}

/// The name, if a picker may touch it.
fn own(name: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    (!OURS.contains(&name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Header;

    fn set(name: &str, value: &'static str, append: Option<bool>, action: u32) -> SetHeader {
        SetHeader {
            header: Header::new(name, value),
            append,
            action: AppendAction(action),
        }
    }

    fn changes() -> HeaderMutation {
        HeaderMutation {
            set: vec![
                set("a", "new", None, 0),
                set("b", "more", Some(true), 0),
                set("absent", "x", None, 1),
                set("a", "not", None, 1),
                set("missing", "not", None, 3),
                set(":path", "/evil", None, 2),
                set("host", "evil", None, 2),
                set("content-length", "7", None, 2),
                set("bad name", "x", None, 2),
            ],
            remove: vec!["gone".into(), "Host".into(), ":method".into()],
        }
    }

    fn before() -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("a", "1"),
            ("a", "2"),
            ("b", "1"),
            ("gone", "1"),
            ("host", "h"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn lines(headers: &HeaderMap) -> Vec<String> {
        let line = |(name, value): (&HeaderName, &HeaderValue)| format!("{name}={value:?}");
        let mut lines: Vec<_> = headers.iter().map(line).collect();
        lines.sort();
        lines
    }

    #[test]
    fn of_a_request() {
        let (remove, set) = request(&changes(), &before());
        assert_eq!(remove, ["gone"]);
        assert_eq!(
            lines(&set),
            [r#"a="new""#, r#"absent="x""#, r#"b="1""#, r#"b="more""#]
        );
    }

    #[test]
    fn of_a_response() {
        let mut headers_now = before();
        headers(&changes(), &mut headers_now);
        let want = [
            r#"a="new""#,
            r#"absent="x""#,
            r#"b="1""#,
            r#"b="more""#,
            r#"host="h""#,
        ];
        assert_eq!(lines(&headers_now), want);
    }
}
