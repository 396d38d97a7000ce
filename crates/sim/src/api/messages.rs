//! `POST /v1/messages` and `/v1/messages/count_tokens`, the Anthropic forms.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::prompt::{self, Content, Message};
use super::usage::Usage;
use super::{Call, Head, Reply, events, sampling};
use crate::event_stream::{Events, Render};
use crate::sequence::{Generation, Step};

#[derive(Debug, Deserialize)]
struct MessagesRequest {
    model: Option<String>,
    system: Option<Content>,
    messages: Vec<Message>,
    max_tokens: Option<usize>,
    stream: Option<bool>,
}

struct MessageStream {
    head: Head,
    usage: Usage,
    tells_cached: bool,
    is_open: bool,
    /// Finish reason of the last token.
    finish: &'static str,
}

/// Answers a message request.
pub(crate) async fn messages(call: &Call) -> Reply {
    let request: MessagesRequest = call.parse(&["messages", "max_tokens"])?;
    prompt::require_messages(&request.messages)?;
    let target = call.engine.target(request.model.as_deref())?;
    let prompt = prompt::chat(request.system.as_ref(), &request.messages);
    let sampling = sampling(request.max_tokens, None, None);
    let jobs = vec![call.engine.job(&target, &prompt, &sampling)?];

    let mut usage = Usage::new(&call.engine, &jobs, 1);
    let tells_cached = call.engine.config.enable_kvcache;
    let head = call.head("chatcmpl-", &target.name);
    let generation = Generation::start(&call.engine, jobs)?;
    if request.stream.unwrap_or(false) {
        let stream = MessageStream {
            head,
            usage,
            tells_cached,
            is_open: false,
            finish: "",
        };
        return Ok(events(generation, stream));
    }
    let choices = usage.collect(generation, 1).await;
    let choice = choices.first().cloned().unwrap_or_default();
    let body = json!({
        "id": head.id,
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": choice.text}],
        "model": head.model,
        "stop_reason": stop_reason(choice.finish),
        "usage": usage_json(&usage, tells_cached),
    });
    Ok(super::json(StatusCode::OK, &body))
}

/// Counts the tokens of a message request.
pub(crate) fn count_tokens(call: &Call) -> Reply {
    let request: MessagesRequest = call.parse(&["messages"])?;
    call.engine.target(request.model.as_deref())?;
    let count = prompt::chat(request.system.as_ref(), &request.messages)
        .ids
        .len();
    let body = json!({
        "input_tokens": count,
        "context_management": {"original_input_tokens": count},
    });
    Ok(super::json(StatusCode::OK, &body))
}

fn stop_reason(finish: &str) -> &'static str {
    if finish == "length" {
        "max_tokens"
    } else {
        "end_turn"
    }
}

/// By Anthropic's definition `input_tokens` are those neither read from nor written to the cache.
fn usage_json(usage: &Usage, tells_cached: bool) -> Value {
    let mut object = Map::new();
    object.insert(
        "input_tokens".to_owned(),
        usage.prompt.saturating_sub(usage.cached).into(),
    );
    if tells_cached {
        object.insert("cache_creation_input_tokens".to_owned(), json!(0));
        object.insert("cache_read_input_tokens".to_owned(), usage.cached.into());
    }
    object.insert("output_tokens".to_owned(), usage.completion.into());
    Value::Object(object)
}

// === impl MessageStream ===

impl MessageStream {
    fn open(&mut self, out: &mut Events) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        let message = json!({
            "id": self.head.id,
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": self.head.model,
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage_json(&self.usage, self.tells_cached),
        });
        out.named(
            "message_start",
            &json!({"type": "message_start", "message": message}),
        );
        let block = json!({
            "type": "content_block_start",
            "content_block": {"type": "text", "text": ""},
            "index": 0,
        });
        out.named("content_block_start", &block);
    }
}

impl Render for MessageStream {
    fn step(&mut self, step: Step, out: &mut Events) {
        if matches!(step, Step::Said { .. }) {
            self.open(out);
        }
        self.usage.note(&step);
        let Step::Said { token, finish, .. } = step else {
            return;
        };
        let delta = json!({
            "type": "content_block_delta",
            "delta": {"type": "text_delta", "text": token.text},
            "index": 0,
        });
        out.named("content_block_delta", &delta);
        self.finish = finish.unwrap_or_default();
    }

    fn end(&mut self, out: &mut Events) {
        self.open(out);
        out.named(
            "content_block_stop",
            &json!({"type": "content_block_stop", "index": 0}),
        );
        let delta = json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(self.finish), "stop_sequence": null},
            "usage": usage_json(&self.usage, self.tells_cached),
        });
        out.named("message_delta", &delta);
        out.named("message_stop", &json!({"type": "message_stop"}));
    }
}
