//! From a checked head, and the body's model where a match asks for it, to a rule.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method};
use suimon_routing::table::{Bind, Rule};
use suimon_telemetry::Reason;

use crate::body::Inbound;
use crate::failure::Failure;
use crate::snapshot::Limits;
use suimon_llm::ModelField;
use suimon_picker::request::Body;
use suimon_routing::matcher::{Head, MODEL_HEADER, Model, Outcome};

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
    body.scan();
    let model = match body.scanned() {
        Body::Absent => None,
        Body::Invalid(error) => {
            return Err(Failure::bad_request(format!(
                "the request body is not JSON: {error}"
            )));
        }
        Body::Fields(fields) => match fields.model() {
            ModelField::Name { name, .. } => Some(name),
            ModelField::NotAString => {
                return Err(Failure::bad_request("the `model` field is not a string"));
            }
            ModelField::Missing { .. } => return Err(Failure::plain(Reason::ModelMissing)),
        },
    };
    if let Some(name) = model {
        let value = HeaderValue::from_bytes(name.as_bytes())
            .map_err(|_| Failure::bad_request("the model name cannot be a header value"))?;
        parts.headers.insert(MODEL_HEADER, value);
    }
    match find(entry, parts, Model::Read(model)) {
        // Where a body belongs, its absence is why nothing matched.
        Err(failure) if failure.reason == Reason::NoRoute && model.is_none() && has_body(parts) => {
            Err(Failure::plain(Reason::ModelMissing))
        }
        found => found?.ok_or_else(|| Failure::plain(Reason::Internal)),
    }
}

/// Whether requests of this method have bodies.
fn has_body(parts: &Parts) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(&parts.method)
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
