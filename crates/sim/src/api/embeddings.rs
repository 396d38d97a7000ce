//! `POST /v1/embeddings`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use super::prompt::PromptForm;
use super::{Call, Reply, sequences};
use crate::engine::{Prompt, Sampling, Target};
use crate::error::ApiError;
use crate::sequence::{count_prompt, queue};

#[derive(Debug, Deserialize)]
struct EmbeddingRequest {
    model: Option<String>,
    input: PromptForm,
    encoding_format: Option<Encoding>,
    dimensions: Option<usize>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Float,
    Base64,
}

/// Most dimensions a request may ask for.
const MAX_DIMENSIONS: usize = 16_384;

/// Answers with one vector of unit length for each input; equal inputs give equal vectors.
pub(crate) async fn embeddings(call: &Call) -> Reply {
    let request: EmbeddingRequest = call.parse(&["input"])?;
    let engine = &call.engine;
    let target = engine.target(request.model.as_deref())?;
    let dimensions = request
        .dimensions
        .unwrap_or(engine.config.default_embedding_dimensions);
    if !(1..=MAX_DIMENSIONS).contains(&dimensions) {
        let text = format!("dimensions must be from 1 to {MAX_DIMENSIONS}, got {dimensions}.");
        return Err(ApiError::bad_request(text).with_param("dimensions"));
    }
    let inputs = request.input.prompts()?;
    sequences(None, inputs.len())?;
    let head = call.head("embd-", &target.name);
    let mut data = Vec::with_capacity(inputs.len());
    let mut tokens = 0;
    for (index, input) in inputs.iter().enumerate() {
        prefill(call, &target, input).await?;
        tokens += input.ids.len();
        let vector = vector(&input.ids, dimensions);
        let embedding = match request.encoding_format.unwrap_or(Encoding::Float) {
            Encoding::Float => json!(vector),
            Encoding::Base64 => json!(encode(&vector)),
        };
        data.push(json!({"index": index, "object": "embedding", "embedding": embedding}));
    }
    let body = json!({
        "id": head.id,
        "object": "list",
        "created": head.created,
        "model": head.model,
        "data": data,
        "usage": {
            "prompt_tokens": tokens,
            "total_tokens": tokens,
            "completion_tokens": 0,
            "prompt_tokens_details": null,
        },
    });
    Ok(super::json(StatusCode::OK, &body))
}

/// Holds a slot for the time of the input's prefill.
async fn prefill(call: &Call, target: &Target, input: &Prompt) -> Result<(), ApiError> {
    let engine = &call.engine;
    // An input has the same limit as a prompt; the planned output is not used.
    let job = engine.job(target, input, &Sampling::default())?;
    let mut slot = queue(engine, job.demand)?;
    let cached_blocks = slot.admitted().await;
    let cached = count_prompt(engine, job.prompt_tokens, cached_blocks);
    engine.knobs.pass_stall().await;
    sleep(engine.first_token(job.prompt_tokens, cached, &mut engine.fork_rng())).await;
    Ok(())
}

fn vector(ids: &[u32], dimensions: usize) -> Vec<f32> {
    let seed = ids.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, id| {
        (hash ^ u64::from(*id)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut rng = StdRng::seed_from_u64(seed);
    let raw: Vec<f32> = (0..dimensions)
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    let length = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
    raw.into_iter()
        .map(|value| value / length.max(f32::MIN_POSITIVE))
        .collect()
}

/// Little-endian 32-bit floats, as clients of the OpenAI interface decode them.
fn encode(vector: &[f32]) -> String {
    STANDARD.encode(
        vector
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_of_unit_length_and_repeat() {
        let first = vector(&[1, 2, 3], 384);
        assert_eq!(first.len(), 384);
        assert!((first.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-3);
        assert_eq!(first, vector(&[1, 2, 3], 384));
        assert_ne!(first, vector(&[1, 2, 4], 384));
    }

    #[test]
    fn base64_is_of_little_endian_floats() {
        assert_eq!(encode(&[1.0, -2.0]), "AACAPwAAAMA=");
    }
}
