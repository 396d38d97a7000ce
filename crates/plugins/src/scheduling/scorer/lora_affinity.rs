//! `lora-affinity-scorer`: prefers endpoints that have the request's LoRA adapter loaded.
//!
//! # What it does
//! Sends a request where its adapter is in use, else where one more fits, so that adapters are
//! loaded seldom.
//!
//! # Reads
//! The adapters of the newest `lora_requests_info` series; the request's target model.
//!
//! # Scores
//! 1.0 where the adapter is active; 0.8 where another adapter fits; 0.6 where it waits to be loaded;
//! 0.0 otherwise, also where no adapters are told or the figures are stale.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: lora-affinity-scorer
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::role::Scorer;
use suimon_picker::{BuildContext, BuildError, Lora, Plugin, Roles, Stability, View};

const ACTIVE: f32 = 1.0;
const ROOM: f32 = 0.8;
const WAITING: f32 = 0.6;

/// See the module.
#[derive(Debug)]
pub struct LoraAffinityScorer;

impl Plugin for LoraAffinityScorer {
    const TYPE: &'static str = "lora-affinity-scorer";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "prefers endpoints that have the request's LoRA adapter loaded";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.scorer(self);
    }
}

// === impl LoraAffinityScorer ===

impl Scorer for LoraAffinityScorer {
    fn score(&self, view: &View<'_>, candidates: &[u32], scores: &mut [f32]) {
        for (place, score) in candidates.iter().zip(scores) {
            if !view.load_of(*place).fresh {
                continue;
            }
            if let Some(endpoint) = view.endpoint(*place) {
                *score = affinity(view.request.model, &endpoint.metrics().lora);
            }
        }
    }
}

fn affinity(model: &str, lora: &Lora) -> f32 {
    let names_model = |adapters: &[Box<str>]| adapters.iter().any(|name| **name == *model);
    let known = lora.active.len() + lora.waiting.len();
    if names_model(&lora.active) {
        ACTIVE
    } else if known < lora.max as usize {
        ROOM
    } else if names_model(&lora.waiting) {
        WAITING
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lora(max: u32, active: &[&str], waiting: &[&str]) -> Lora {
        let names = |names: &[&str]| names.iter().map(|&name| Box::from(name)).collect();
        Lora {
            max,
            active: names(active),
            waiting: names(waiting),
        }
    }

    #[test]
    fn table_of_the_four_states() {
        let rows = [
            (lora(2, &["a"], &[]), 1.0),
            (lora(1, &["a"], &["b"]), 1.0),
            (lora(2, &["b"], &[]), 0.8),
            (lora(2, &["b"], &["a"]), 0.6),
            (lora(2, &["b"], &["c"]), 0.0),
            (lora(1, &["b"], &[]), 0.0),
            (lora(0, &[], &[]), 0.0),
        ];
        for (lora, expected) in rows {
            assert_eq!(affinity("a", &lora), expected, "{lora:?}");
        }
    }
}
