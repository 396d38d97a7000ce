//! From a checked head, and the body's model where a match asks for it, to a rule.

use std::sync::Arc;

use http::HeaderValue;
use http::request::Parts;
use suimon_routing::table::{Bind, Rule};
use suimon_telemetry::Reason;

use crate::body::Inbound;
use crate::control;
use crate::failure::Failure;
use crate::shim::llm::{FieldsExt as _, ModelField};
use crate::shim::routing::{Head, Model, Outcome, Route as _};
use crate::snapshot::Limits;

/// A rule that matched.
#[derive(Debug)]
pub(crate) struct Routed {
    pub(crate) rule: Arc<Rule>,
    pub(crate) listener: Arc<str>,
    /// Bytes of the path that the rule's prefix matched; 0 without a prefix match.
    pub(crate) prefix: usize,
}

/// Where a request comes in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) bind: &'a Bind,
    pub(crate) sni: Option<&'a str>,
    pub(crate) host: &'a str,
}

/// Finds the rule. The body is read only if a match depends on its model; then
/// `x-gateway-model-name` is set.
///
/// # Errors
/// No rule, no model where one is needed, or the body cannot be read.
pub(crate) async fn route(
    entry: Entry<'_>,
    parts: &mut Parts,
    body: &mut Inbound,
    limits: &Limits,
) -> Result<Routed, Failure> {
    if let Some(found) = find(entry, parts, Model::Unread)? {
        return Ok(found);
    }
    body.hold(&mut parts.headers, limits).await?;
    let has_body = body.held().is_some_and(|bytes| !bytes.is_empty());
    let model = match body.scan(&parts.headers)?.map(|fields| fields.model()) {
        Some(ModelField::Name { name, .. }) => {
            let value = HeaderValue::from_bytes(name.as_bytes())
                .map_err(|_| Failure::bad_request("the model name cannot be a header value"))?;
            parts.headers.insert(control::MODEL_NAME, value);
            Some(name)
        }
        Some(ModelField::NotAString) => {
            return Err(Failure::bad_request("the `model` field is not a string"));
        }
        Some(ModelField::Missing) => return Err(Failure::plain(Reason::ModelMissing)),
        None if has_body => return Err(Failure::plain(Reason::ModelMissing)),
        None => None,
    };
    find(entry, parts, Model::Read(model))?.ok_or_else(|| Failure::plain(Reason::Internal))
}

/// `None`: the model has to be read first.
fn find(entry: Entry<'_>, parts: &Parts, model: Model<'_>) -> Result<Option<Routed>, Failure> {
    let head = Head {
        method: &parts.method,
        host: entry.host,
        path: parts.uri.path(),
        query: parts.uri.query(),
        headers: &parts.headers,
    };
    match entry.bind.route(&head, entry.sni, model) {
        Outcome::Matched(found) => Ok(Some(Routed {
            rule: Arc::clone(found.rule),
            listener: Arc::clone(&found.listener.name),
            prefix: found.prefix.map_or(0, str::len),
        })),
        Outcome::NeedsModel => Ok(None),
        Outcome::NotFound => Err(Failure::plain(Reason::NoRoute)),
        Outcome::Misdirected => Err(Failure::plain(Reason::Misdirected)),
    }
}
