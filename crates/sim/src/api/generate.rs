//! `POST /inference/v1/generate`: token ids in, token ids out.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::prompt::from_ids;
use super::usage::Usage;
use super::{Call, Reply, sampling, sequences};
use crate::error::ApiError;
use crate::sequence::Generation;

#[derive(Debug, Deserialize)]
struct GenerateRequest {
    model: Option<String>,
    token_ids: Vec<u32>,
    #[serde(default)]
    sampling_params: SamplingParams,
    stream: Option<bool>,
    cache_salt: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct SamplingParams {
    max_tokens: Option<usize>,
    n: Option<usize>,
    ignore_eos: Option<bool>,
}

/// Answers a generate request.
pub(crate) async fn generate(call: &Call) -> Reply {
    let request: GenerateRequest = call.parse(&["token_ids"])?;
    if request.stream.unwrap_or(false) {
        return Err(ApiError::bad_request("streams are not simulated here").with_param("stream"));
    }
    if request.token_ids.is_empty() {
        return Err(ApiError::bad_request("token_ids must not be empty").with_param("token_ids"));
    }
    let target = call.engine.target(request.model.as_deref())?;
    let params = request.sampling_params;
    let n = sequences(params.n, 1)?;
    let prompt = from_ids(request.token_ids);
    let sampling = sampling(params.max_tokens, params.ignore_eos, request.cache_salt);
    let jobs = (0..n)
        .map(|_| call.engine.job(&target, &prompt, &sampling))
        .collect::<Result<Vec<_>, _>>()?;

    let mut usage = Usage::new(&call.engine, &jobs, n);
    let head = call.head("generate-tokens-", &target.name);
    let generation = Generation::start(&call.engine, jobs)?;
    let choices: Vec<_> = usage
        .collect(generation, n)
        .await
        .into_iter()
        .enumerate()
        .map(|(index, choice)| {
            json!({
                "index": index,
                "finish_reason": choice.finish,
                "stop_reason": null,
                "token_ids": choice.ids,
                "routed_experts": null,
                "sampling_mask": null,
                "weight_versions":
                    [{"version": "default", "start": 0, "end": choice.ids.len()}],
                "logprobs": null,
            })
        })
        .collect();
    let body = json!({
        "request_id": head.id,
        "model": head.model,
        "created": head.created,
        "usage": usage.json(),
        "prompt_logprobs": null,
        "prompt_token_id_logprobs": null,
        "prompt_token_ids": null,
        "mm_placeholders": null,
        "metrics": null,
        "kv_transfer_params": null,
        "ec_transfer_params": null,
        "output_mode": "tokens",
        "choices": choices,
    });
    Ok(super::json(StatusCode::OK, &body))
}
