//! `POST /v1/completions`.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt::PromptForm;
use super::usage::{Choice, StreamOptions, Usage};
use super::{Call, FINGERPRINT, Head, Reply, events, sampling, sequences};
use crate::event_stream::{Events, Render};
use crate::sequence::{Generation, Step};

#[derive(Debug, Deserialize)]
struct CompletionRequest {
    model: Option<String>,
    prompt: PromptForm,
    max_tokens: Option<usize>,
    n: Option<usize>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    ignore_eos: Option<bool>,
    cache_salt: Option<String>,
}

struct CompletionStream {
    head: Head,
    usage: Usage,
    options: StreamOptions,
}

/// Answers a completion request, with a choice for each prompt and each of its `n` repetitions.
pub(crate) async fn completions(call: &Call) -> Reply {
    let request: CompletionRequest = call.parse(&["prompt"])?;
    let target = call.engine.target(request.model.as_deref())?;
    let prompts = request.prompt.prompts()?;
    let n = sequences(request.n, prompts.len())?;
    let sampling = sampling(request.max_tokens, request.ignore_eos, request.cache_salt);
    let jobs = prompts
        .iter()
        .flat_map(|prompt| std::iter::repeat_n(prompt, n))
        .map(|prompt| call.engine.job(&target, prompt, &sampling))
        .collect::<Result<Vec<_>, _>>()?;

    let mut usage = Usage::new(&call.engine, &jobs, n);
    let count = jobs.len();
    let head = call.head("cmpl-", &target.name);
    let generation = Generation::start(&call.engine, jobs)?;
    if request.stream.unwrap_or(false) {
        let options = request.stream_options.unwrap_or_default();
        return Ok(events(
            generation,
            CompletionStream {
                head,
                usage,
                options,
            },
        ));
    }
    let choices = usage.collect(generation, count).await;
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
                "text": choice.text,
                "logprobs": null,
                "finish_reason": choice.finish,
                "stop_reason": null,
                "token_ids": null,
                "prompt_logprobs": null,
                "prompt_token_ids": null,
                "routed_experts": null,
            })
        })
        .collect();
    json!({
        "id": head.id,
        "object": "text_completion",
        "created": head.created,
        "model": head.model,
        "choices": choices,
        "service_tier": null,
        "system_fingerprint": FINGERPRINT,
        "usage": usage.json(),
        "kv_transfer_params": null,
        "ec_transfer_params": null,
        "metrics": null,
    })
}

// === impl CompletionStream ===

impl CompletionStream {
    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.head.id,
            "object": "text_completion",
            "created": self.head.created,
            "model": self.head.model,
            "choices": choices,
        });
        if self.options.continuous_usage_stats {
            chunk["usage"] = self.usage.stream_json();
        }
        chunk
    }
}

impl Render for CompletionStream {
    fn step(&mut self, step: Step, out: &mut Events) {
        self.usage.note(&step);
        let Step::Said {
            choice,
            token,
            finish,
        } = step
        else {
            return;
        };
        let mut chunk = self.chunk(json!([{
            "index": choice,
            "text": token.text,
            "logprobs": null,
            "finish_reason": finish,
            "stop_reason": null,
            "prompt_token_ids": null,
            "token_ids": null,
        }]));
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
