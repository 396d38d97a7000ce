//! `POST /v1/chat/completions`.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt::{self, Message};
use super::usage::{Choice, StreamOptions, Usage};
use super::{Call, FINGERPRINT, Head, Reply, events, sampling, sequences};
use crate::event_stream::{Events, Render};
use crate::sequence::{Generation, Step};

#[derive(Debug, Deserialize)]
struct ChatRequest {
    model: Option<String>,
    messages: Vec<Message>,
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    n: Option<usize>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    ignore_eos: Option<bool>,
    cache_salt: Option<String>,
}

struct ChatStream {
    head: Head,
    usage: Usage,
    options: StreamOptions,
    /// Choices whose first chunk, with the role, is sent.
    opened: Vec<bool>,
}

/// Answers a chat request.
pub(crate) async fn chat(call: &Call) -> Reply {
    let request: ChatRequest = call.parse(&["messages"])?;
    prompt::require_messages(&request.messages)?;
    let target = call.engine.target(request.model.as_deref())?;
    let n = sequences(request.n, 1)?;
    let prompt = prompt::chat(None, &request.messages);
    let max_tokens = request.max_completion_tokens.or(request.max_tokens);
    let sampling = sampling(max_tokens, request.ignore_eos, request.cache_salt);
    let jobs = (0..n)
        .map(|_| call.engine.job(&target, &prompt, &sampling))
        .collect::<Result<Vec<_>, _>>()?;

    let mut usage = Usage::new(&call.engine, &jobs, n);
    let head = call.head("chatcmpl-", &target.name);
    let generation = Generation::start(&call.engine, jobs)?;
    if request.stream.unwrap_or(false) {
        let options = request.stream_options.unwrap_or_default();
        return Ok(events(
            generation,
            ChatStream {
                head,
                usage,
                options,
                opened: vec![false; n],
            },
        ));
    }
    let choices = usage.collect(generation, n).await;
    Ok(super::json(
        StatusCode::OK,
        &answer(&head, &choices, &usage),
    ))
}

fn answer(head: &Head, choices: &[Choice], usage: &Usage) -> Value {
    let choices: Vec<Value> = choices
        .iter()
        .enumerate()
        .map(|(index, choice)| {
            json!({
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": choice.text,
                    "refusal": null,
                    "annotations": null,
                    "audio": null,
                    "function_call": null,
                    "reasoning": null,
                },
                "logprobs": null,
                "finish_reason": choice.finish,
                "stop_reason": null,
                "token_ids": null,
                "routed_experts": null,
            })
        })
        .collect();
    json!({
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": choices,
        "service_tier": null,
        "system_fingerprint": FINGERPRINT,
        "usage": usage.json(),
        "prompt_logprobs": null,
        "prompt_token_ids": null,
        "prompt_text": null,
        "kv_transfer_params": null,
        "ec_transfer_params": null,
        "metrics": null,
    })
}

// === impl ChatStream ===

impl ChatStream {
    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.head.id,
            "object": "chat.completion.chunk",
            "created": self.head.created,
            "model": self.head.model,
            "choices": choices,
        });
        if self.options.continuous_usage_stats {
            chunk["usage"] = self.usage.stream_json();
        }
        chunk
    }

    fn open(&self, choice: usize) -> Value {
        let mut chunk = self.chunk(json!([{
            "index": choice,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": null,
            "finish_reason": null,
        }]));
        chunk["prompt_token_ids"] = Value::Null;
        chunk["prompt_text"] = Value::Null;
        chunk
    }
}

impl Render for ChatStream {
    fn step(&mut self, step: Step, out: &mut Events) {
        let Step::Said {
            choice,
            ref token,
            finish,
        } = step
        else {
            return self.usage.note(&step);
        };
        if !std::mem::replace(&mut self.opened[choice], true) {
            out.data(&self.open(choice));
        }
        self.usage.note(&step);
        let mut said = json!({
            "index": choice,
            "delta": {"content": token.text},
            "logprobs": null,
            "finish_reason": finish,
        });
        if finish.is_some() {
            said["stop_reason"] = Value::Null;
        }
        said["token_ids"] = Value::Null;
        let mut chunk = self.chunk(json!([said]));
        // The fingerprint is on the last chunk, which is the usage chunk when there is one.
        if finish.is_some() && !self.options.include_usage {
            chunk["system_fingerprint"] = FINGERPRINT.into();
        }
        out.data(&chunk);
    }

    fn end(&mut self, out: &mut Events) {
        if self.options.include_usage {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = self.usage.stream_json();
            chunk["system_fingerprint"] = FINGERPRINT.into();
            out.data(&chunk);
        }
        out.done();
    }
}
