//! Token counts of an answer.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::generate::Token;
use crate::sequence::{Generation, Job, Step};

/// Counts that grow with the steps of a generation.
#[derive(Clone, Debug)]
pub(super) struct Usage {
    pub(super) prompt: usize,
    pub(super) completion: usize,
    pub(super) cached: usize,
    /// Whether a cache is simulated, so that there is something to tell of it.
    tells_cached: bool,
    /// Choices of one prompt; its tokens count once.
    n: usize,
}

/// `stream_options` of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct StreamOptions {
    #[serde(default)]
    pub(super) include_usage: bool,
    #[serde(default)]
    pub(super) continuous_usage_stats: bool,
}

/// A finished choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) text: String,
    pub(super) ids: Vec<u32>,
    pub(super) finish: &'static str,
}

// === impl Usage ===

impl Usage {
    pub(super) fn new(engine: &Engine, jobs: &[Job], n: usize) -> Self {
        Self {
            prompt: jobs
                .iter()
                .step_by(n.max(1))
                .map(|job| job.prompt_tokens)
                .sum(),
            completion: 0,
            cached: 0,
            tells_cached: engine.config.enable_kvcache,
            n: n.max(1),
        }
    }

    pub(super) fn note(&mut self, step: &Step) {
        match step {
            // The further choices of a prompt find what the first one left.
            Step::Admitted { choice, cached } if choice % self.n == 0 => self.cached += cached,
            Step::Admitted { .. } => {}
            Step::Said { .. } => self.completion += 1,
        }
    }

    /// The object of an unstreamed answer.
    pub(super) fn json(&self) -> Value {
        let details = if self.tells_cached {
            self.details()
        } else {
            Value::Null
        };
        json!({
            "prompt_tokens": self.prompt,
            "total_tokens": self.prompt + self.completion,
            "completion_tokens": self.completion,
            "prompt_tokens_details": details,
            "completion_tokens_details": null,
        })
    }

    /// The object of a stream, where vLLM leaves out what is null.
    pub(super) fn stream_json(&self) -> Value {
        let mut usage = Map::new();
        usage.insert("prompt_tokens".to_owned(), self.prompt.into());
        usage.insert(
            "total_tokens".to_owned(),
            (self.prompt + self.completion).into(),
        );
        usage.insert("completion_tokens".to_owned(), self.completion.into());
        if self.tells_cached {
            usage.insert("prompt_tokens_details".to_owned(), self.details());
        }
        Value::Object(usage)
    }

    /// Runs a generation to its end.
    pub(super) async fn collect(
        &mut self,
        mut generation: Generation,
        choices: usize,
    ) -> Vec<Choice> {
        let mut done = vec![Choice::default(); choices];
        while let Some(step) = generation.next().await {
            self.note(&step);
            if let Step::Said {
                choice,
                token: Token { text, id },
                finish,
            } = step
            {
                let choice = &mut done[choice];
                choice.text.push_str(&text);
                choice.ids.push(id);
                choice.finish = finish.unwrap_or_default();
            }
        }
        done
    }

    fn details(&self) -> Value {
        json!({"cached_tokens": self.cached})
    }
}
