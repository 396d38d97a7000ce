//! Reads a body as what its path says it is.

use std::borrow::Cow;

use crate::api_kind::ApiKind;
use crate::fields::{Fields, ModelField};
use crate::grpc::FrameError;
use crate::prompt::Prompts;
use crate::walk::ScanError;
use crate::{vertex, vllm_grpc};

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
    /// The same, in the words of a front door that prescribes them; see [`ParseError::prescribed`].
    #[error("error unmarshaling request {what}: {error}")]
    Unmarshal {
        /// What the body is called.
        what: &'static str,
        /// Why it cannot be read.
        #[source]
        error: ScanError,
    },
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
    /// The token ids of a request to SGLang are missing or of another shape.
    #[error("invalid generate request: input_ids {what}")]
    InputIds {
        /// What is wrong.
        what: &'static str,
    },
    /// What sets prefixes apart in a request to SGLang is no string.
    #[error("unsupported generate request: extra_key must be a string")]
    ExtraKey,
    /// The body is no gRPC message of vLLM.
    #[error("invalid or unsupported gRPC payload")]
    Frame,
    /// The body is no gRPC message of Vertex AI.
    #[error("invalid or unsupported gRPC payload: {0}")]
    VertexFrame(#[from] FrameError),
    /// The message is not in the protobuf format.
    #[error("unmarshaling {message}: not a protobuf message")]
    Protobuf {
        /// Name of the message.
        message: &'static str,
    },
    /// A message of Vertex AI without content.
    #[error("{message} has no HttpBody")]
    NoHttpBody {
        /// Name of the message.
        message: &'static str,
    },
    /// The JSON in a message of Vertex AI does not fit its API.
    #[error("parsing {message}: {error}")]
    Inside {
        /// Name of the message.
        message: &'static str,
        /// What is wrong with the JSON.
        #[source]
        error: Box<ParseError>,
    },
    /// A request to vLLM has neither text nor token ids.
    #[error("not supported request inputType")]
    InputType,
    /// A request to vLLM for an embedding has no token ids.
    #[error("missing tokenized input in EmbedRequest")]
    MissingTokens,
}

// === impl ParseError ===

impl ParseError {
    /// The error of a request to the API `kind` in the words that llm-d's endpoint picker has for it.
    #[must_use]
    pub fn prescribed(self, kind: ApiKind) -> Self {
        let what = match kind {
            ApiKind::Messages => "body",
            _ => "bodyMap",
        };
        match self {
            Self::Scan(error) => Self::Unmarshal { what, error },
            other => other,
        }
    }
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

    /// Reads `fields` as a request to the API `kind`; for one of Vertex AI they are those of the JSON
    /// inside, see [`vertex_json`](crate::vertex_json).
    ///
    /// # Errors
    /// [`ParseError`] if a field that the API needs is missing or of another shape.
    pub fn parse(kind: ApiKind, fields: &'a Fields) -> Result<Self, ParseError> {
        let prompts = Prompts::of(kind, fields).map_err(|error| match kind.is_vertex() {
            true => ParseError::Inside {
                message: vertex::message_of(kind),
                error: Box::new(error),
            },
            false => error,
        });
        Ok(Self {
            prompts: prompts?,
            ..Self::without_prompts(kind, fields)
        })
    }

    /// Reads `body` as a request to the method `kind` of vLLM's gRPC service. Ranges of prompts
    /// point into `body`.
    ///
    /// # Errors
    /// [`ParseError`] if it does not start with a message that can be read, or has no prompt.
    pub fn parse_grpc(kind: ApiKind, body: &[u8]) -> Result<Self, ParseError> {
        let request = vllm_grpc::Request::read(kind, body)?;
        Ok(Self {
            stream: request.stream,
            max_tokens: request.max_tokens,
            prompts: request.prompts,
            ..Self::unread(kind)
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
            cache_salt: match kind {
                ApiKind::SglangGenerate => fields.extra_key(),
                _ => fields.cache_salt(),
            },
            prompts: Prompts::default(),
        }
    }
}
