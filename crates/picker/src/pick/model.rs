//! Which model an endpoint is asked for.

use std::sync::Arc;

use http::HeaderName;
use rand::rngs::SmallRng;
use suimon_llm::{ApiKind, ModelField};

use super::first_header;
use super::read::Reading;
use crate::decision::ModelNames;
use crate::error::PickError;
use crate::pool::PoolSnapshot;
use crate::request::PickRequest;

/// Headers that name a model to use instead; the first that is present counts.
pub const REWRITE_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-llm-d-model-name-rewrite"),
    HeaderName::from_static("x-gateway-model-name-rewrite"),
];

/// The model that the endpoint is asked for: by a rule, else by header, else as the client said.
/// A body that was not read has none, and is refused where a rule or the header could give it one.
pub(super) fn target(
    request: &PickRequest<'_>,
    reading: &Reading<'_>,
    pool: &PoolSnapshot,
    rng: &mut SmallRng,
) -> Result<ModelNames, PickError> {
    let kind = reading.inference.kind;
    if let Some(error) = &reading.unread
        && (names_model(kind) || kind.is_vertex())
        && (!pool.rewrites.is_empty() || rewrite_header(request).is_some())
    {
        // An engine may read what is not read here, such as UTF-16: its model must not slip past.
        return Err(error.clone().into());
    }
    let named = names_model(kind) && reading.unread.is_none();
    let (incoming, replace) = match &reading.inference.model {
        ModelField::Name { name, range } => (*name, range.clone()),
        ModelField::Missing { insert } => ("", insert.clone()),
        ModelField::NotAString if named => return Err(PickError::ModelNotAString),
        // What is not interpreted may mean anything by `model`.
        ModelField::NotAString => ("", 0..0),
    };
    let incoming: Arc<str> = Arc::from(incoming);
    if !named {
        if kind.is_vertex() && would_rename(request, pool, &incoming) {
            return Err(PickError::ModelFixed);
        }
        return Ok(ModelNames {
            target: Arc::clone(&incoming),
            incoming,
            replace: None,
        });
    }
    let target = match pool.rewrites.rule(&incoming) {
        // A rule is an order: one without targets leaves the request without a model.
        Some(rule) => Some(rule.draw(rng).ok_or(PickError::ModelMissing)?.clone()),
        None => rewrite_header(request).map(Arc::from),
    };
    let target = target.unwrap_or_else(|| Arc::clone(&incoming));
    if target.is_empty() {
        return Err(PickError::ModelMissing);
    }
    let replace = (target != incoming).then_some(replace);
    Ok(ModelNames {
        incoming,
        target,
        replace,
    })
}

fn rewrite_header<'a>(request: &PickRequest<'a>) -> Option<&'a str> {
    first_header(request.headers, &REWRITE_HEADERS).filter(|model| !model.is_empty())
}

/// Whether a rule or the header may give the request another model than `incoming`.
fn would_rename(request: &PickRequest<'_>, pool: &PoolSnapshot, incoming: &str) -> bool {
    match pool.rewrites.rule(incoming) {
        Some(rule) => rule.targets.iter().any(|(target, _)| &**target != incoming),
        None => rewrite_header(request).is_some_and(|target| target != incoming),
    }
}

/// Whether a request to this API has to name a model.
const fn names_model(kind: ApiKind) -> bool {
    !matches!(
        kind,
        ApiKind::CountTokens | ApiKind::Conversations | ApiKind::SglangGenerate | ApiKind::Opaque
    ) && !kind.is_grpc()
}
