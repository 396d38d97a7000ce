//! Prompts in the forms clients send them.

use serde::Deserialize;

use crate::engine::Prompt;
use crate::error::ApiError;
use crate::tokenizer;

/// `prompt` of completions and `input` of embeddings.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum PromptForm {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u32>>),
}

/// A chat message of the OpenAI or Anthropic form.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Message {
    role: String,
    #[serde(default)]
    content: Option<Content>,
}

/// Text, or a list of parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// One part; other kinds than text leave only their kind in the prompt.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

// === impl PromptForm ===

impl PromptForm {
    /// The prompts, one for each element of an array of texts or of id lists.
    pub(super) fn prompts(self) -> Result<Vec<Prompt>, ApiError> {
        let prompts: Vec<Prompt> = match self {
            Self::Text(text) => vec![from_text(text)],
            Self::Ids(ids) => vec![from_ids(ids)],
            Self::Texts(texts) => texts.into_iter().map(from_text).collect(),
            Self::IdLists(lists) => lists.into_iter().map(from_ids).collect(),
        };
        if prompts.is_empty() || prompts.iter().any(|prompt| prompt.ids.is_empty()) {
            let text = "Either prompt or prompt_embeds must be provided and non-empty.";
            return Err(ApiError::bad_request(text).with_param("prompt"));
        }
        Ok(prompts)
    }
}

fn from_text(text: String) -> Prompt {
    Prompt {
        ids: tokenizer::encode(&text),
        echo: Some(text),
    }
}

/// A prompt that is already tokenized.
pub(super) fn from_ids(ids: Vec<u32>) -> Prompt {
    Prompt { ids, echo: None }
}

/// The prompt of a conversation, with a template like that of common chat models: a conversation's
/// next turn starts with the tokens of this one.
pub(super) fn chat(system: Option<&Content>, messages: &[Message]) -> Prompt {
    let mut text = String::new();
    if let Some(system) = system {
        turn(&mut text, "system", &system.text());
    }
    let mut last = String::new();
    for message in messages {
        last = message
            .content
            .as_ref()
            .map(Content::text)
            .unwrap_or_default();
        turn(&mut text, &message.role, &last);
    }
    text.push_str("<|assistant|>\n");
    Prompt {
        ids: tokenizer::encode(&text),
        echo: Some(last),
    }
}

/// Refuses a conversation without messages.
pub(super) fn require_messages(messages: &[Message]) -> Result<(), ApiError> {
    if messages.is_empty() {
        return Err(ApiError::bad_request("messages must not be empty").with_param("messages"));
    }
    Ok(())
}

fn turn(text: &mut String, role: &str, content: &str) {
    for part in ["<|", role, "|>\n", content, "\n"] {
        text.push_str(part);
    }
}

// === impl Content ===

impl Content {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => parts
                .iter()
                .map(|part| {
                    part.text
                        .clone()
                        .unwrap_or_else(|| format!("<|{}|>", part.kind))
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(json: &str) -> Result<Vec<Vec<u32>>, ApiError> {
        let form: PromptForm = serde_json::from_str(json).unwrap();
        Ok(form
            .prompts()?
            .into_iter()
            .map(|prompt| prompt.ids)
            .collect())
    }

    #[test]
    fn the_four_forms_are_read() {
        assert_eq!(prompts("[1,2]").unwrap(), [[1, 2]]);
        assert_eq!(prompts("[[1],[2,3]]").unwrap(), [vec![1], vec![2, 3]]);
        assert_eq!(prompts(r#""a b""#).unwrap(), [tokenizer::encode("a b")]);
        assert_eq!(prompts(r#"["a","b"]"#).unwrap().len(), 2);
    }

    #[test]
    fn empty_prompts_are_refused() {
        for json in ["[]", "[[]]", r#"["a",""]"#, r#""""#] {
            assert!(prompts(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_next_turn_starts_with_the_turns_before() {
        let json = r#"[{"role":"user","content":[{"type":"text","text":"hello"}]},
            {"role":"assistant","content":"hi"},{"role":"user","content":"bye"}]"#;
        let messages: Vec<Message> = serde_json::from_str(json).unwrap();
        let first = chat(None, &messages[..1]);
        let next = chat(None, &messages);
        assert!(next.ids.starts_with(&first.ids));
        assert_eq!(next.echo.as_deref(), Some("bye"));
    }
}
