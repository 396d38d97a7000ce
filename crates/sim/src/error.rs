//! Error answers in the shape of vLLM.

use http::StatusCode;
use serde_json::{Value, json};

use crate::config::FailureType;

/// A refused request: everything that its answer needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    message: String,
    kind: &'static str,
    param: Option<String>,
}

// === impl ApiError ===

impl ApiError {
    pub(crate) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            kind,
            param: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", message)
    }

    pub(crate) fn with_param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// A body that does not validate, as pydantic reports it.
    pub(crate) fn validation(kind: &str, place: &str, message: &str) -> Self {
        let text = format!(
            "1 validation error:\n  {{'type': '{kind}', 'loc': '{place}', 'msg': '{message}'}}"
        );
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", text).with_param(place)
    }

    pub(crate) fn missing_field(name: &str, fields: usize) -> Self {
        let place = format!("body.{name}");
        let text = format!(
            "1 validation error:\n  {{'type': 'missing', 'loc': '{place}', 'msg': 'Field required', \
             'input': '<dict of {fields} items>'}}"
        );
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", text).with_param(place)
    }

    pub(crate) fn unknown_model(name: &str, aliases: &str) -> Self {
        let text = format!("The model `{name}` does not exist. Valid aliases: {aliases}.");
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", text).with_param("model")
    }

    pub(crate) fn too_long(max_model_len: usize) -> Self {
        // vLLM stops counting one token past the limit.
        let value = max_model_len + 1;
        Self::bad_request(format!(
            "This model's maximum context length is {max_model_len} tokens. However, your prompt \
             contains at least {value} input tokens, which exceeds this limit even without any \
             output tokens. Please reduce the length of the input prompt. \
             (parameter=input_tokens, value={value})"
        ))
        .with_param("input_tokens")
    }

    pub(crate) fn max_tokens_too_large(max_tokens: usize, max_model_len: usize, n: usize) -> Self {
        Self::bad_request(format!(
            "'max_tokens' or 'max_completion_tokens' is too large: {max_tokens}. This model's \
             maximum context length is {max_model_len} tokens and your request has {n} input \
             tokens ({max_tokens} > {max_model_len} - {n}). (parameter=max_tokens, \
             value={max_tokens})"
        ))
        .with_param("max_tokens")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found", "Not Found")
    }

    /// A failure asked for by a header or a knob.
    pub(crate) fn with_status(status: StatusCode) -> Self {
        let reason = status.canonical_reason().unwrap_or("Simulated Failure");
        Self::new(
            status,
            "SimulatedError",
            format!("simulated failure: {reason}"),
        )
    }

    /// A failure drawn by `failure-injection-rate`.
    pub(crate) fn injected(kind: FailureType) -> Self {
        let (status, name, message) = match kind {
            FailureType::RateLimit => (429, "rate_limit_exceeded", "Rate limit reached"),
            FailureType::InvalidApiKey => (401, "invalid_api_key", "Incorrect API key provided"),
            FailureType::ContextLength => (
                400,
                "context_length_exceeded",
                "The context length is exceeded",
            ),
            FailureType::ServerError => (503, "server_error", "The server is overloaded"),
            FailureType::InvalidRequest => (400, "invalid_request_error", "The request is invalid"),
            FailureType::ModelNotFound => (404, "model_not_found", "The model does not exist"),
        };
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, name, message)
    }

    /// The body of the OpenAI and vLLM endpoints.
    pub(crate) fn openai(&self) -> Value {
        json!({"error": {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.status.as_u16(),
        }})
    }

    /// The body of the Anthropic endpoints.
    pub(crate) fn anthropic(&self) -> Value {
        let kind = match self.status.as_u16() {
            400 => "invalid_request_error",
            401 => "authentication_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            503 | 529 => "overloaded_error",
            _ => "api_error",
        };
        json!({"type": "error", "error": {"type": kind, "message": self.message}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Bodies that vLLM 0.32 gave for the same requests.

    #[test]
    fn an_unknown_model_is_told_as_by_vllm() {
        let body = ApiError::unknown_model("nope", "tiny").openai().to_string();
        assert_eq!(
            body,
            r#"{"error":{"message":"The model `nope` does not exist. Valid aliases: tiny.","type":"NotFoundError","param":"model","code":404}}"#
        );
    }

    #[test]
    fn a_missing_field_is_told_as_by_vllm() {
        let body = ApiError::missing_field("messages", 1).openai().to_string();
        assert_eq!(
            body,
            r#"{"error":{"message":"1 validation error:\n  {'type': 'missing', 'loc': 'body.messages', 'msg': 'Field required', 'input': '<dict of 1 items>'}","type":"Bad Request","param":"body.messages","code":400}}"#
        );
    }

    #[test]
    fn a_long_prompt_is_told_as_by_vllm() {
        let body = ApiError::too_long(2048).openai().to_string();
        assert_eq!(
            body,
            r#"{"error":{"message":"This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=2049)","type":"BadRequestError","param":"input_tokens","code":400}}"#
        );
    }
}
