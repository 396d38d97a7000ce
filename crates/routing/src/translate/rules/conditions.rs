//! Conditions of a rule.

use http::{HeaderName, Method};
use regex::{Regex, RegexBuilder};
use suimon_api::http_route::{HttpMatch, PathCondition, ValueCondition};

use super::MatchDraft;
use crate::path;
use crate::table::{HeaderMatch, PathMatch, QueryMatch, ValueMatch};

/// Longest pattern, in bytes; that of the Gateway API for paths.
const PATTERN_BYTES: usize = 1024;
/// Largest compiled pattern, in bytes.
const COMPILED_BYTES: usize = 512 * 1024;

const METHODS: [Method; 9] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::CONNECT,
    Method::OPTIONS,
    Method::TRACE,
    Method::PATCH,
];

/// Field and message of a condition that cannot be checked.
type Fault = (String, String);

pub(super) fn compile(wire: &HttpMatch) -> Result<MatchDraft, Fault> {
    let path = path(wire.path.as_ref()).map_err(|message| ("path".to_owned(), message))?;
    let method = wire
        .method
        .as_deref()
        .map(method)
        .transpose()
        .map_err(|message| ("method".to_owned(), message))?;
    Ok(MatchDraft {
        path,
        method,
        headers: headers(&wire.headers)?,
        query: query(&wire.query_params)?,
    })
}

/// Whether the rule has one prefix, so that "the prefix that matched" is one.
pub(super) fn is_one_prefix(matches: &[HttpMatch]) -> bool {
    match matches {
        [] => true,
        [one] => one.path.as_ref().is_none_or(is_prefix),
        _ => false,
    }
}

fn is_prefix(path: &PathCondition) -> bool {
    matches!(path.kind.as_deref(), None | Some("PathPrefix"))
}

fn path(wire: Option<&PathCondition>) -> Result<PathMatch, String> {
    let value = wire.and_then(|path| path.value.as_deref()).unwrap_or("/");
    match wire
        .and_then(|path| path.kind.as_deref())
        .unwrap_or("PathPrefix")
    {
        "PathPrefix" => {
            let path = literal(value)?;
            Ok(PathMatch::Prefix(path.trim_end_matches('/').into()))
        }
        "Exact" => Ok(PathMatch::Exact(literal(value)?.into())),
        "RegularExpression" => pattern(value).map(PathMatch::Regex),
        other => Err(format!(
            "path type `{other}` is not supported; accepted: `PathPrefix`, `Exact`, `RegularExpression`"
        )),
    }
}

/// The form in which request paths are matched. A value that is not in it could never match as it
/// is read, so dots, double slashes and the like are refused as the Gateway API does.
fn literal(value: &str) -> Result<String, String> {
    let refuse = |why: &str| Err(format!("path `{value}` cannot be matched: {why}"));
    let dotted = value
        .split('/')
        .any(|segment| matches!(segment, "." | ".."));
    if value.contains("//") || dotted {
        return refuse("`//`, `/.` and `/..` are not accepted");
    }
    if value.contains(['?', '#']) {
        return refuse("`?` and `#` are not part of a path");
    }
    match path::normalize(value) {
        Ok(path) => Ok(path.into_owned()),
        Err(error) => refuse(&error.to_string()),
    }
}

fn pattern(value: &str) -> Result<Regex, String> {
    let refuse = |why: String| format!("regular expression `{value}` is not supported: {why}");
    if value.len() > PATTERN_BYTES {
        return Err(format!(
            "a regular expression of {} bytes is not supported; accepted: {PATTERN_BYTES} bytes",
            value.len()
        ));
    }
    let compile = |pattern: &str| {
        RegexBuilder::new(pattern)
            .size_limit(COMPILED_BYTES)
            .build()
    };
    // Alone first: `a)|(b` would be valid between the anchors and undo them.
    compile(value)
        .and_then(|_| compile(&format!("^(?:{value})$")))
        .map_err(|error| {
            let text = error.to_string();
            refuse(text.lines().last().unwrap_or_default().trim().to_owned())
        })
}

fn method(value: &str) -> Result<Method, String> {
    METHODS
        .into_iter()
        .find(|method| method.as_str() == value)
        .ok_or_else(|| {
            let accepted: Vec<String> =
                METHODS.iter().map(|method| format!("`{method}`")).collect();
            format!(
                "method `{value}` is not supported; accepted: {}",
                accepted.join(", ")
            )
        })
}

fn headers(wire: &[ValueCondition]) -> Result<Vec<HeaderMatch>, Fault> {
    let mut all: Vec<HeaderMatch> = Vec::new();
    for (index, condition) in wire.iter().enumerate() {
        let fault = |message| (format!("headers[{index}]"), message);
        let name = HeaderName::from_bytes(condition.name.as_bytes())
            .map_err(|_| fault(format!("`{}` is not a header name", condition.name)))?;
        // Of names that differ in case only the first counts.
        if !all.iter().any(|earlier| earlier.name == name) {
            let value = value(condition).map_err(fault)?;
            all.push(HeaderMatch { name, value });
        }
    }
    Ok(all)
}

fn query(wire: &[ValueCondition]) -> Result<Vec<QueryMatch>, Fault> {
    let mut all: Vec<QueryMatch> = Vec::new();
    for (index, condition) in wire.iter().enumerate() {
        if !all.iter().any(|earlier| *earlier.name == *condition.name) {
            all.push(QueryMatch {
                name: condition.name.as_str().into(),
                value: value(condition)
                    .map_err(|message| (format!("queryParams[{index}]"), message))?,
            });
        }
    }
    Ok(all)
}

fn value(condition: &ValueCondition) -> Result<ValueMatch, String> {
    match condition.kind.as_deref().unwrap_or("Exact") {
        "Exact" => Ok(ValueMatch::Exact(condition.value.as_str().into())),
        "RegularExpression" => pattern(&condition.value).map(ValueMatch::Regex),
        other => Err(format!(
            "type `{other}` is not supported; accepted: `Exact`, `RegularExpression`"
        )),
    }
}
