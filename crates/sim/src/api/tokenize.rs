//! `POST /tokenize`.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::prompt::{self, Message};
use super::{Call, Reply};
use crate::error::ApiError;
use crate::tokenizer;

#[derive(Debug, Deserialize)]
struct TokenizeRequest {
    model: Option<String>,
    prompt: Option<String>,
    messages: Option<Vec<Message>>,
    return_token_strs: Option<bool>,
}

/// Tells the token ids of a text or a conversation.
pub(crate) fn tokenize(call: &Call) -> Reply {
    let request: TokenizeRequest = call.parse(&[])?;
    call.engine.target(request.model.as_deref())?;
    let (ids, strings) = match (request.prompt, request.messages) {
        (Some(text), _) => {
            let strings: Vec<String> = tokenizer::split(&text)
                .into_iter()
                .map(str::to_owned)
                .collect();
            (tokenizer::encode(&text), Some(strings))
        }
        (None, Some(messages)) => (prompt::chat(None, &messages).ids, None),
        (None, None) => return Err(ApiError::missing_field("prompt", 0)),
    };
    let strings = strings.filter(|_| request.return_token_strs.unwrap_or(false));
    let body = json!({
        "count": ids.len(),
        "max_model_len": call.engine.config.max_model_len,
        "tokens": ids,
        "token_strs": strings,
    });
    Ok(super::json(StatusCode::OK, &body))
}
