//! From a request's bytes to what it asks for.

use rand::rngs::SmallRng;
use suimon_llm::{ApiKind, Fields, InferenceRequest, ParseError, vertex_json};

use super::{DEFAULT_PRIORITY, OBJECTIVE_HEADERS, first_header, model};
use crate::decision::ModelNames;
use crate::engine::Parsers;
use crate::error::PickError;
use crate::pool::PoolSnapshot;
use crate::request::{Body, PickRequest, Unreadable};
use crate::view::Request;

/// A request whose API is known. Holds what had to be taken out of an envelope.
pub(super) struct Opened {
    kind: ApiKind,
    inside: Option<Result<Fields, ParseError>>,
}

/// What a request asks for, once read.
pub(super) struct Asked<'a> {
    pub(super) inference: InferenceRequest<'a>,
    pub(super) model: ModelNames,
    pub(super) priority: i32,
    /// What the ranges of prompts point into.
    body: &'a [u8],
}

/// A body as far as it could be read.
pub(super) struct Reading<'a> {
    pub(super) inference: InferenceRequest<'a>,
    /// Why nothing of it could be read.
    pub(super) unread: Option<ParseError>,
    body: &'a [u8],
}

/// What the parsers of an API read.
enum Content<'a> {
    Json(&'a Fields),
    Grpc(&'a [u8]),
    Error(ParseError),
}

/// Reads the body, finds the target model and the priority.
pub(super) fn read<'r>(
    request: &PickRequest<'r>,
    opened: &'r Opened,
    pool: &PoolSnapshot,
    rng: &mut SmallRng,
) -> Result<Asked<'r>, PickError> {
    let reading = opened.read(request)?;
    let model = model::target(request, &reading, pool, rng)?;
    let objective = first_header(request.headers, &OBJECTIVE_HEADERS);
    let priority = objective.and_then(|name| pool.objectives.get(name).copied());
    Ok(Asked {
        inference: reading.inference,
        model,
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
        body: reading.body,
    })
}

// === impl Opened ===

impl Opened {
    /// Finds the API of `request`.
    ///
    /// # Errors
    /// No parser takes the path.
    pub(super) fn of(request: &PickRequest<'_>, parsers: &Parsers) -> Result<Self, PickError> {
        let kind = parsers.kind(request.path);
        let kind = kind.ok_or_else(|| PickError::NoParser {
            path: request.path.to_owned(),
        })?;
        let has_inside = kind.is_vertex() && !matches!(request.body, Body::Absent);
        Ok(Self {
            kind,
            inside: has_inside.then(|| vertex_json(kind, request.bytes)),
        })
    }

    /// The body as a request to the API, or as far as it can be read.
    fn read<'r>(&'r self, request: &PickRequest<'r>) -> Result<Reading<'r>, PickError> {
        let pass = request.unreadable == Unreadable::Pass;
        let whole = |inference, body| Reading {
            inference,
            unread: None,
            body,
        };
        match self.content(request) {
            None => Ok(whole(InferenceRequest::opaque(), &[])),
            Some(Content::Json(fields)) => match InferenceRequest::parse(self.kind, fields) {
                Err(_) if pass => Ok(whole(
                    InferenceRequest::without_prompts(self.kind, fields),
                    fields.bytes(),
                )),
                parsed => Ok(whole(parsed?, fields.bytes())),
            },
            Some(Content::Grpc(bytes)) => match InferenceRequest::parse_grpc(self.kind, bytes) {
                Err(error) if pass => Ok(self.unread(error)),
                parsed => Ok(whole(parsed?, bytes)),
            },
            Some(Content::Error(error)) if pass || reads_nothing(self.kind) => {
                Ok(self.unread(error))
            }
            Some(Content::Error(error)) => Err(error.prescribed(self.kind).into()),
        }
    }

    fn content<'r>(&'r self, request: &PickRequest<'r>) -> Option<Content<'r>> {
        Some(match (&self.inside, request.body) {
            (_, Body::Absent) => return None,
            (Some(Ok(fields)), _) => Content::Json(fields),
            (Some(Err(error)), _) => Content::Error(error.clone()),
            (None, _) if self.kind.is_grpc() => Content::Grpc(request.bytes),
            (None, Body::Fields(fields)) => Content::Json(fields),
            (None, Body::Invalid(error)) => Content::Error(ParseError::from(*error)),
        })
    }

    fn unread(&self, error: ParseError) -> Reading<'_> {
        Reading {
            inference: InferenceRequest::unread(self.kind),
            unread: Some(error),
            body: &[],
        }
    }
}

/// Whether nothing in a request to this API is of interest to a pick.
const fn reads_nothing(kind: ApiKind) -> bool {
    matches!(kind, ApiKind::CountTokens | ApiKind::Opaque)
}

// === impl Asked ===

impl Asked<'_> {
    /// The request as plugins see it.
    pub(super) fn request<'a>(&'a self, pick: &PickRequest<'a>) -> Request<'a> {
        Request {
            id: pick.id,
            headers: pick.headers,
            inference: &self.inference,
            body: self.body,
            model: &self.model.target,
            priority: self.priority,
        }
    }
}
