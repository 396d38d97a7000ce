//! Reads a body as what its path says it is.

use std::borrow::Cow;

use crate::api_kind::ApiKind;
use crate::fields::{Fields, ModelField};
use crate::prompt::Prompts;
use crate::walk::ScanError;

/// What a request asks for.
#[derive(Debug, Clone)]
pub struct InferenceRequest<'a> {
    /// The API that the path names.
    pub kind: ApiKind,
    /// The model that the body names.
    pub model: ModelField<'a>,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// Most tokens that the answer may have; `None` without a limit.
    pub max_tokens: Option<u64>,
    /// What sets this request's prefixes apart from those of others.
    pub cache_salt: Option<Cow<'a, str>>,
    /// The prompts; none for an API that is not interpreted.
    pub prompts: Prompts,
}

/// The body does not fit its API. The text is fit for clients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The body is not a JSON object.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// A field that the API needs is missing or of another shape.
    #[error("invalid {api} request: must have {what}")]
    Invalid {
        /// The API, in words.
        api: &'static str,
        /// What is needed.
        what: &'static str,
    },
    /// Something in a list of token ids is not a token id.
    #[error("invalid {api} request: {field}[{index}]: invalid value {value}")]
    TokenId {
        /// The API, in words.
        api: &'static str,
        /// The field that holds the list.
        field: &'static str,
        /// Position in the list.
        index: usize,
        /// The value, cut to a few characters.
        value: String,
    },
}

// === impl InferenceRequest ===

impl<'a> InferenceRequest<'a> {
    /// A request whose body is not read and whose API is not known: it has no prompts and names no
    /// model.
    #[must_use]
    pub fn opaque() -> Self {
        Self::unread(ApiKind::Opaque)
    }

    /// A request to the API `kind` whose body is not read.
    #[must_use]
    pub fn unread(kind: ApiKind) -> Self {
        Self {
            kind,
            model: ModelField::Missing { insert: 0..0 },
            stream: false,
            max_tokens: None,
            cache_salt: None,
            prompts: Prompts::default(),
        }
    }

    /// Reads `fields` as a request to the API `kind`.
    ///
    /// # Errors
    /// [`ParseError`] if a field that the API needs is missing or of another shape.
    pub fn parse(kind: ApiKind, fields: &'a Fields) -> Result<Self, ParseError> {
        Ok(Self {
            prompts: Prompts::of(kind, fields)?,
            ..Self::without_prompts(kind, fields)
        })
    }

    /// Reads all but the prompts: of a request that no engine takes as it is, its model still counts.
    #[must_use]
    pub fn without_prompts(kind: ApiKind, fields: &'a Fields) -> Self {
        Self {
            kind,
            model: fields.model(),
            stream: fields.stream(),
            max_tokens: fields.max_tokens(kind),
            cache_salt: fields.cache_salt(),
            prompts: Prompts::default(),
        }
    }
}
