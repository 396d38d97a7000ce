//! Filters of rules and backends. One that cannot be applied fails requests; it is never left out,
//! because what it would have done may be what keeps requests apart.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode};
use suimon_api::http_route::{
    Header, HeaderModifier, HttpBackendRef, HttpFilter, PathModifier, RequestMirror,
    RequestRedirect, UrlRewrite,
};

use super::listeners::hostname;
use super::tls::Refusal;
use crate::status::reason;
use crate::table::{Backend, Filter, HeaderEdit, Hostname, Mirror, PathRewrite, Redirect, Rewrite};

/// Where filters stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Whether the rule has one prefix to replace.
    pub(super) replaces_prefix: bool,
    /// Whether requests go to a backend afterwards.
    pub(super) has_backends: bool,
}

/// Filters with what is wrong with them, by index.
pub(super) struct Compiled {
    pub(super) filters: Vec<Filter>,
    pub(super) refusals: Vec<(usize, Refusal)>,
}

/// Compiles filters in their order. `backend` resolves the reference of the mirror at an index; a
/// mirror without backend is left out, which changes nothing for the request itself.
pub(super) fn compile(
    wire: &[HttpFilter],
    scope: Scope,
    mut backend: impl FnMut(usize, &HttpBackendRef) -> Option<Backend>,
) -> Compiled {
    let mut compiled = Compiled {
        filters: Vec::new(),
        refusals: Vec::new(),
    };
    let mut seen = BTreeSet::new();
    for (index, filter) in wire.iter().enumerate() {
        let kind = filter.kind.as_str();
        let repeats = !matches!(kind, "RequestMirror" | "ExtensionRef") && !seen.insert(kind);
        let result = if repeats {
            Err((
                reason::INCOMPATIBLE_FILTERS,
                format!("filter `{kind}` is there twice"),
            ))
        } else if let Some(other) = excluded(wire, filter, scope) {
            let message = format!("filter `{kind}` cannot be used together with {other}");
            Err((reason::INCOMPATIBLE_FILTERS, message))
        } else {
            one(filter, scope, |reference| backend(index, reference))
                .map_err(|message| (reason::UNSUPPORTED_VALUE, message))
        };
        match result {
            Ok(filter) => compiled.filters.extend(filter),
            Err(refusal) => {
                compiled.filters.push(Filter::Invalid {
                    why: Arc::from(refusal.1.as_str()),
                });
                compiled.refusals.push((index, refusal));
            }
        }
    }
    compiled
}

/// What a redirect excludes.
fn excluded(wire: &[HttpFilter], filter: &HttpFilter, scope: Scope) -> Option<&'static str> {
    if filter.kind != "RequestRedirect" {
        return None;
    }
    if wire.iter().any(|other| other.kind == "URLRewrite") {
        return Some("`URLRewrite`");
    }
    scope.has_backends.then_some("`backendRefs`")
}

fn one(
    filter: &HttpFilter,
    scope: Scope,
    backend: impl FnOnce(&HttpBackendRef) -> Option<Backend>,
) -> Result<Option<Filter>, String> {
    let compiled = match filter.kind.as_str() {
        "RequestHeaderModifier" => edit(member(
            filter.request_header_modifier.as_ref(),
            "requestHeaderModifier",
        )?)
        .map(Filter::RequestHeaders)?,
        "ResponseHeaderModifier" => edit(member(
            filter.response_header_modifier.as_ref(),
            "responseHeaderModifier",
        )?)
        .map(Filter::ResponseHeaders)?,
        "RequestRedirect" => redirect(
            member(filter.request_redirect.as_ref(), "requestRedirect")?,
            scope,
        )
        .map(Filter::Redirect)?,
        "URLRewrite" => rewrite(member(filter.url_rewrite.as_ref(), "urlRewrite")?, scope)
            .map(Filter::Rewrite)?,
        "RequestMirror" => {
            let mirror = member(filter.request_mirror.as_ref(), "requestMirror")?;
            let fraction = fraction(mirror)?;
            let found = backend(&mirror.backend_ref);
            return Ok(found.map(|backend| Filter::Mirror(Mirror { backend, fraction })));
        }
        other => {
            return Err(format!(
                "filter `{other}` is not supported; requests of the rule get 500; accepted: \
                 `RequestHeaderModifier`, `ResponseHeaderModifier`, `RequestMirror`, \
                 `RequestRedirect`, `URLRewrite`"
            ));
        }
    };
    Ok(Some(compiled))
}

fn member<'a, T>(value: Option<&'a T>, field: &str) -> Result<&'a T, String> {
    value.ok_or_else(|| format!("`{field}` is missing"))
}

fn edit(wire: &HeaderModifier) -> Result<HeaderEdit, String> {
    Ok(HeaderEdit {
        set: wire.set.iter().map(header).collect::<Result<_, _>>()?,
        add: wire.add.iter().map(header).collect::<Result<_, _>>()?,
        remove: wire
            .remove
            .iter()
            .map(|name| header_name(name))
            .collect::<Result<_, _>>()?,
    })
}

fn header(wire: &Header) -> Result<(HeaderName, HeaderValue), String> {
    let value = HeaderValue::from_str(&wire.value).map_err(|_| {
        format!(
            "the value of header `{}` has a control character",
            wire.name
        )
    })?;
    Ok((header_name(&wire.name)?, value))
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is not a header name"))
}

fn redirect(wire: &RequestRedirect, scope: Scope) -> Result<Redirect, String> {
    let scheme = wire.scheme.as_deref();
    if let Some(other) = scheme.filter(|scheme| !matches!(*scheme, "http" | "https")) {
        return Err(format!(
            "scheme `{other}` is not supported; accepted: `http`, `https`"
        ));
    }
    let code = wire.status_code.unwrap_or(302);
    let status = StatusCode::from_u16(code)
        .ok()
        .filter(|status| matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308))
        .ok_or_else(|| {
            format!("status code {code} is not supported; accepted: 301, 302, 303, 307, 308")
        })?;
    Ok(Redirect {
        scheme: scheme.map(Into::into),
        hostname: wire.hostname.as_deref().map(precise).transpose()?,
        path: wire
            .path
            .as_ref()
            .map(|path| rewritten(path, scope))
            .transpose()?,
        port: wire.port,
        status,
    })
}

fn rewrite(wire: &UrlRewrite, scope: Scope) -> Result<Rewrite, String> {
    let hostname = wire.hostname.as_deref().map(precise).transpose()?;
    Ok(Rewrite {
        hostname: hostname
            .map(|name| HeaderValue::from_str(&name).map_err(|error| error.to_string()))
            .transpose()?,
        path: wire
            .path
            .as_ref()
            .map(|path| rewritten(path, scope))
            .transpose()?,
    })
}

/// A hostname without wildcard.
fn precise(text: &str) -> Result<Box<str>, String> {
    match hostname(text)? {
        Hostname::Exact(name) => Ok(name),
        Hostname::Any | Hostname::Suffix(_) => Err(format!(
            "`{text}` is not one host; a wildcard is not accepted here"
        )),
    }
}

fn rewritten(wire: &PathModifier, scope: Scope) -> Result<PathRewrite, String> {
    let checked = |path: &str| {
        let is_plain = path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'\\'));
        match (is_plain, path.is_empty() || path.starts_with('/')) {
            (true, true) => Ok(path.to_owned()),
            (true, false) => Ok(format!("/{path}")),
            (false, _) => Err(format!("`{path}` is not a path")),
        }
    };
    match wire.kind.as_str() {
        "ReplaceFullPath" => {
            let path = checked(member(wire.replace_full_path.as_ref(), "replaceFullPath")?)?;
            let path = if path.is_empty() { "/" } else { &path };
            Ok(PathRewrite::Full(path.into()))
        }
        "ReplacePrefixMatch" if scope.replaces_prefix => {
            let path = checked(member(
                wire.replace_prefix_match.as_ref(),
                "replacePrefixMatch",
            )?)?;
            Ok(PathRewrite::Prefix(path.trim_end_matches('/').into()))
        }
        "ReplacePrefixMatch" => Err(
            "`ReplacePrefixMatch` needs a rule with exactly one match, of type `PathPrefix`"
                .to_owned(),
        ),
        other => Err(format!(
            "path modifier `{other}` is not supported; accepted: `ReplaceFullPath`, `ReplacePrefixMatch`"
        )),
    }
}

fn fraction(wire: &RequestMirror) -> Result<(u32, u32), String> {
    let (numerator, denominator) = match (wire.percent, &wire.fraction) {
        (Some(_), Some(_)) => {
            return Err("`percent` and `fraction` exclude each other".to_owned());
        }
        (Some(percent), None) => (percent, 100),
        (None, Some(fraction)) => (fraction.numerator, fraction.denominator.unwrap_or(100)),
        (None, None) => (1, 1),
    };
    if denominator == 0 || numerator > denominator {
        return Err(format!(
            "a share of {numerator}/{denominator} is not supported; accepted: 0 to 1"
        ));
    }
    Ok((numerator, denominator))
}
