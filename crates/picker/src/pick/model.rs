//! Which model an endpoint is asked for.

use std::sync::Arc;

use http::HeaderName;
use rand::rngs::SmallRng;
use suimon_llm::{ApiKind, InferenceRequest, ModelField};

use super::first_header;
use crate::decision::ModelNames;
use crate::error::PickError;
use crate::pool::PoolSnapshot;
use crate::request::{Body, PickRequest};

/// Headers that name a model to use instead; the first that is present counts.
pub const REWRITE_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("x-llm-d-model-name-rewrite"),
    HeaderName::from_static("x-gateway-model-name-rewrite"),
];

/// The model that the endpoint is asked for: by a rule, else by header, else as the client said.
pub(super) fn target(
    request: &PickRequest<'_>,
    inference: &InferenceRequest<'_>,
    pool: &PoolSnapshot,
    rng: &mut SmallRng,
) -> Result<ModelNames, PickError> {
    let named = names_model(inference.kind) && !matches!(request.body, Body::Absent);
    let (incoming, replace) = match &inference.model {
        ModelField::Name { name, range } => (*name, range.clone()),
        ModelField::Missing { insert } => ("", insert.clone()),
        ModelField::NotAString if named => return Err(PickError::ModelNotAString),
        // What is not interpreted may mean anything by `model`.
        ModelField::NotAString => ("", 0..0),
    };
    let incoming: Arc<str> = Arc::from(incoming);
    if !named {
        return Ok(ModelNames {
            target: Arc::clone(&incoming),
            incoming,
            replace: None,
        });
    }
    let target = match pool.rewrites.rule(&incoming) {
        // A rule is an order: one without targets leaves the request without a model.
        Some(rule) => Some(rule.draw(rng).ok_or(PickError::ModelMissing)?.clone()),
        None => first_header(request.headers, &REWRITE_HEADERS)
            .filter(|model| !model.is_empty())
            .map(Arc::from),
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

/// Whether a request to this API has to name a model.
const fn names_model(kind: ApiKind) -> bool {
    !matches!(
        kind,
        ApiKind::CountTokens | ApiKind::Conversations | ApiKind::Opaque
    )
}
