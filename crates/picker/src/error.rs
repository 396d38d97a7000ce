//! Why no endpoint was picked.

use suimon_llm::ParseError;
use suimon_telemetry::{Blame, Reason};

use crate::follow::DirectAnswer;

/// Why no endpoint was picked. The display text is fit for clients.
#[derive(Debug, thiserror::Error)]
pub enum PickError {
    /// The body is not what its path says.
    #[error("{0}")]
    Parse(#[from] ParseError),
    /// No parser of the pool takes this path.
    #[error("no parser registered matching path suffix for: {path}")]
    NoParser {
        /// The path.
        path: String,
    },
    /// The model is something else than a string.
    #[error("`model` must be a string")]
    ModelNotAString,
    /// The request names no model and no rule supplies one.
    #[error("model not found in request body")]
    ModelMissing,
    /// A rewrite is for this model, but the body's format does not let it be replaced.
    #[error("the model of this request cannot be rewritten: it is inside a gRPC message")]
    ModelFixed,
    /// The pool has no endpoint, or none that the subset allows.
    #[error("failed to find endpoint candidates for serving the request")]
    NoEndpoints,
    /// Filters removed every endpoint of a pool that has some.
    #[error("no endpoints available for the given request")]
    Filtered,
    /// The pool is saturated and the request's priority is below zero.
    #[error("system saturated, sheddable request dropped")]
    Saturated,
    /// The profile handler ran no profile, or its primary profile gave nothing.
    #[error("failed to run scheduler profile `{profile}`")]
    Profile {
        /// Name of the profile.
        profile: String,
    },
    /// A foreign picker decided that no endpoint gets the request, and how the client is answered.
    #[error("the endpoint picker answered with status {}", .0.status)]
    Answered(Box<DirectAnswer>),
    /// A foreign picker failed; see the source.
    #[error("the endpoint picker failed")]
    Remote(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Blame for PickError {
    fn reason(&self) -> Reason {
        match self {
            Self::Parse(_) | Self::NoParser { .. } | Self::ModelNotAString | Self::ModelFixed => {
                Reason::BadRequest
            }
            Self::ModelMissing => Reason::ModelMissing,
            Self::NoEndpoints => Reason::NoEndpoints,
            Self::Filtered | Self::Saturated => Reason::Saturated,
            Self::Answered(_) => Reason::PickerAnswered,
            Self::Profile { .. } | Self::Remote(_) => Reason::PickerFailed,
        }
    }
}
