//! Changes of host and path (Gateway API HTTPURLRewriteFilter).

use std::borrow::Cow;

use bytes::Bytes;
use http::Uri;
use http::header::HOST;
use http::request::Parts;
use http::uri::PathAndQuery;
use suimon_routing::table::{PathRewrite, Rewrite};
use suimon_telemetry::Reason;

use crate::failure::Failure;

/// Applies one rewrite. The query stays.
///
/// # Errors
/// The new path is not valid.
pub(crate) fn apply(change: &Rewrite, parts: &mut Parts, prefix: usize) -> Result<(), Failure> {
    if let Some(host) = &change.hostname {
        parts.headers.insert(HOST, host.clone());
    }
    let Some(path) = &change.path else {
        return Ok(());
    };
    let new = rewritten(path, parts.uri.path(), prefix);
    let target = match parts.uri.query() {
        Some(query) => format!("{new}?{query}"),
        None => new.into_owned(),
    };
    let target = PathAndQuery::from_maybe_shared(Bytes::from(target))
        .map_err(|_| Failure::plain(Reason::FilterInvalid))?;
    parts.uri = Uri::from(target);
    Ok(())
}

/// The path that `change` makes of `path`, whose first `prefix` bytes the rule's prefix matched.
pub(super) fn rewritten<'a>(change: &'a PathRewrite, path: &str, prefix: usize) -> Cow<'a, str> {
    match change {
        PathRewrite::Full(full) => Cow::Borrowed(if full.is_empty() { "/" } else { full }),
        PathRewrite::Prefix(replacement) => {
            let rest = path.get(prefix..).unwrap_or_default();
            let new = format!("{}{rest}", replacement.trim_end_matches('/'));
            if new.is_empty() {
                Cow::Borrowed("/")
            } else {
                Cow::Owned(new)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        // Rows of the Gateway API's table for ReplacePrefixMatch; the prefix has no trailing slash.
        for (path, prefix, replacement, want) in [
            ("/foo/bar", "/foo", "/xyz", "/xyz/bar"),
            ("/foo/bar", "/foo", "/xyz/", "/xyz/bar"),
            ("/foo", "/foo", "/xyz", "/xyz"),
            ("/foo/", "/foo", "/xyz", "/xyz/"),
            ("/foo/bar", "/foo", "", "/bar"),
            ("/foo/bar", "/foo", "/", "/bar"),
            ("/foo/", "/foo", "", "/"),
            ("/foo", "/foo", "", "/"),
            ("/foo", "/foo", "/", "/"),
            ("/foo/", "/foo", "/", "/"),
            ("/foo", "", "/xyz", "/xyz/foo"),
        ] {
            let change = PathRewrite::Prefix(replacement.into());
            assert_eq!(
                rewritten(&change, path, prefix.len()),
                want,
                "{path} {replacement}"
            );
        }
    }

    #[test]
    fn query_stays() {
        let request = http::Request::builder().uri("/foo?a=1&b").body(()).unwrap();
        let mut parts = request.into_parts().0;
        let change = Rewrite {
            hostname: Some(http::HeaderValue::from_static("new.test")),
            path: Some(PathRewrite::Prefix("/bar".into())),
        };
        apply(&change, &mut parts, 4).unwrap();
        assert_eq!(parts.uri, "/bar?a=1&b");
        assert_eq!(parts.headers[HOST], "new.test");
    }
}
