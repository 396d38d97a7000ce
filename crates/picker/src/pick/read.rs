//! From a request's bytes to what it asks for.

use rand::rngs::SmallRng;
use suimon_llm::{ApiKind, InferenceRequest, ParseError};

use super::{DEFAULT_PRIORITY, OBJECTIVE_HEADERS, first_header, model};
use crate::decision::ModelNames;
use crate::engine::Parsers;
use crate::error::PickError;
use crate::pool::PoolSnapshot;
use crate::request::{Body, PickRequest, Unreadable};
use crate::view::Request;

/// What a request asks for, once read.
pub(super) struct Asked<'a> {
    pub(super) inference: InferenceRequest<'a>,
    pub(super) model: ModelNames,
    pub(super) priority: i32,
}

/// Reads the body, finds the target model and the priority.
pub(super) fn read<'r>(
    request: &PickRequest<'r>,
    parsers: &Parsers,
    pool: &PoolSnapshot,
    rng: &mut SmallRng,
) -> Result<Asked<'r>, PickError> {
    let kind = parsers
        .kind(request.path)
        .ok_or_else(|| PickError::NoParser {
            path: request.path.to_owned(),
        })?;
    let inference = inference(request, kind)?;
    let model = model::target(request, &inference, pool, rng)?;
    let objective = first_header(request.headers, &OBJECTIVE_HEADERS);
    let priority = objective.and_then(|name| pool.objectives.get(name).copied());
    Ok(Asked {
        inference,
        model,
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
    })
}

/// The body as a request to the API `kind`, or as far as it can be read.
fn inference<'r>(
    request: &PickRequest<'r>,
    kind: ApiKind,
) -> Result<InferenceRequest<'r>, PickError> {
    let pass = request.unreadable == Unreadable::Pass;
    match request.body {
        Body::Absent => Ok(InferenceRequest::opaque()),
        Body::Invalid(_) if pass || kind == ApiKind::Opaque => Ok(InferenceRequest::unread(kind)),
        Body::Invalid(error) => Err(ParseError::from(*error).into()),
        Body::Fields(fields) => match InferenceRequest::parse(kind, fields) {
            Err(_) if pass => Ok(InferenceRequest::without_prompts(kind, fields)),
            parsed => Ok(parsed?),
        },
    }
}

// === impl Asked ===

impl Asked<'_> {
    /// The request as plugins see it.
    pub(super) fn request<'a>(&'a self, pick: &PickRequest<'a>) -> Request<'a> {
        Request {
            id: pick.id,
            headers: pick.headers,
            inference: &self.inference,
            body: match pick.body {
                Body::Fields(fields) => fields.bytes(),
                Body::Absent | Body::Invalid(_) => &[],
            },
            model: &self.model.target,
            priority: self.priority,
        }
    }
}
