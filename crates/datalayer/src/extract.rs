//! From a metrics page to [`Metrics`].
//!
//! A server with data-parallel ranks repeats each family once a rank: queues are summed, cache usage
//! is the mean, and the order of the lines does not matter.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use suimon_picker::endpoint::Endpoint;
use suimon_picker::metrics::{Lora, Metrics};
use suimon_picker::role::{self, Extract, Found};

use crate::engine_names::{Engine, RANKS, Signal, recognise};
use crate::error::EngineError;
use crate::params::CoreMetricsParams;
use crate::prom::{Labels, Sample};

/// Reads pages of the engines it knows.
#[derive(Debug)]
pub struct Extractor {
    engines: Vec<Engine>,
    default: Engine,
    label_key: String,
}

/// Label of the engine in older deployments.
const OLD_LABEL_KEY: &str = "inference.networking.k8s.io/engine-type";

/// Adapters of one list that are kept: more than any server has places for.
const LORA_NAMES: usize = 512;

/// What has been read of a page so far.
#[derive(Debug, Clone, Copy, Default)]
struct Tally<'a> {
    waiting: [Sum; RANKS],
    running: [Sum; RANKS],
    kv_usage: [Sum; RANKS],
    lora: Option<(f64, Labels<'a>)>,
    block_size: u32,
    num_blocks: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    total: f64,
    count: u32,
}

// === impl Extractor ===

impl Extractor {
    /// The built-in engines and those of `params`.
    ///
    /// # Errors
    /// [`EngineError`] says which engine and field is wrong.
    pub fn new(params: &CoreMetricsParams) -> Result<Self, EngineError> {
        let mut built_in = Engine::built_in();
        let mut engines: Vec<Engine> = Vec::new();
        for (index, config) in params.engine_configs.iter().enumerate() {
            let name = config.name.clone();
            if name.is_empty() || name == "default" {
                return Err(EngineError::Name { index, name });
            }
            if engines.iter().any(|engine| **engine.name() == *name) {
                return Err(EngineError::Twice { index, name });
            }
            if !config.custom_metrics.is_empty() {
                tracing::warn!(engine = %name, "customMetrics are read by no plugin");
            }
            built_in.retain(|engine| **engine.name() != *name);
            engines.push(Engine::from_config(config)?);
        }
        engines.append(&mut built_in);
        let default = engines
            .iter()
            .find(|engine| **engine.name() == *params.default_engine);
        let Some(default) = default.cloned() else {
            let known: Vec<&str> = engines.iter().map(|engine| &**engine.name()).collect();
            return Err(EngineError::Default {
                name: params.default_engine.clone(),
                known: known.join(", "),
            });
        };
        Ok(Self {
            engines,
            default,
            label_key: params.engine_label_key.clone(),
        })
    }

    /// The engine that the endpoint's labels name; the default one if they name an unknown engine.
    /// `None`: they name none, and the page must tell.
    #[must_use]
    pub fn labelled(&self, endpoint: &Endpoint) -> Option<&Engine> {
        let label = endpoint
            .label(&self.label_key)
            .or_else(|| endpoint.label(OLD_LABEL_KEY))?;
        Some(self.named(label).unwrap_or(&self.default))
    }

    /// Reads `page`, answered at `now`. Figures that are not on it stay as in `previous`; only a
    /// load figure makes the result fresh. Allocates nothing when LoRA and engine are unchanged.
    #[must_use]
    pub fn extract(
        &self,
        page: &[u8],
        labelled: Option<&Engine>,
        previous: &Metrics,
        now: Instant,
    ) -> Extract {
        if let Some(engine) = labelled {
            return read(engine, page, previous, now);
        }
        let known = previous.engine.as_deref().and_then(|name| self.named(name));
        if let Some(engine) = known {
            let extract = read(engine, page, previous, now);
            if extract.found.load() {
                return extract;
            }
        }
        let engine = recognise(&self.engines, page).unwrap_or(&self.default);
        read(engine, page, previous, now)
    }

    fn named(&self, name: &str) -> Option<&Engine> {
        self.engines.iter().find(|engine| **engine.name() == *name)
    }
}

impl Default for Extractor {
    /// The built-in engines only.
    fn default() -> Self {
        Self {
            engines: Engine::built_in(),
            default: Engine::vllm(),
            label_key: CoreMetricsParams::default().engine_label_key,
        }
    }
}

impl role::Extractor for Extractor {
    fn extract(
        &self,
        page: &[u8],
        endpoint: &Endpoint,
        previous: &Metrics,
        now: Instant,
    ) -> Extract {
        self.extract(page, self.labelled(endpoint), previous, now)
    }

    fn families(&self, engine: &str) -> Vec<&str> {
        self.named(engine)
            .map(|engine| engine.family_names().collect())
            .unwrap_or_default()
    }
}

// === impl Tally ===

impl<'a> Tally<'a> {
    fn add(&mut self, engine: &Engine, sample: &Sample<'a>) {
        for reader in engine.readers(sample.family) {
            if !reader.spec.matches(sample.labels) {
                continue;
            }
            match &reader.signal {
                Signal::Waiting => add_at(&mut self.waiting, reader.rank, sample.value),
                Signal::Running => add_at(&mut self.running, reader.rank, sample.value),
                Signal::KvUsage => {
                    // A share below 0 is none.
                    if sample.value >= 0.0 {
                        add_at(&mut self.kv_usage, reader.rank, sample.value.min(1.0));
                    }
                }
                Signal::Lora => self.add_lora(sample),
                Signal::CacheInfo {
                    block_size,
                    num_blocks,
                } => {
                    self.add_block_size(number(sample.labels, block_size));
                    self.add_num_blocks(number(sample.labels, num_blocks));
                }
                Signal::BlockSize => self.add_block_size(whole(sample.value)),
                Signal::NumBlocks => self.add_num_blocks(whole(sample.value)),
            }
        }
    }

    /// The value is the time of the change: the greatest is the current one. Equal ones are ordered
    /// by their text, so that the order of the lines does not matter.
    fn add_lora(&mut self, sample: &Sample<'a>) {
        let newer = self.lora.is_none_or(|(time, labels)| {
            let known = (time, labels.as_bytes());
            (sample.value, sample.labels.as_bytes()) > known
        });
        if newer {
            self.lora = Some((sample.value, sample.labels));
        }
    }

    fn add_block_size(&mut self, size: u32) {
        self.block_size = self.block_size.max(size);
    }

    fn add_num_blocks(&mut self, blocks: u32) {
        self.num_blocks = self.num_blocks.saturating_add(blocks);
    }

    /// Whether load figures are known: found now, or kept from a page that had them. A figure that
    /// was never there is unknown, not 0.
    fn is_whole(&self, engine: &Engine, found: Found, previous: &Metrics) -> bool {
        let known = previous.updated.is_some();
        found.load()
            && (known || found.waiting || !engine.tells(&Signal::Waiting))
            && (known || found.running || !engine.tells(&Signal::Running))
            && (known || found.kv_usage || !engine.tells(&Signal::KvUsage))
    }

    fn finish(&self, engine: &Engine, previous: &Metrics, now: Instant) -> Extract {
        let (waiting, running) = (first(&self.waiting), first(&self.running));
        let kv_usage = first(&self.kv_usage);
        let found = Found {
            waiting: waiting.is_some(),
            running: running.is_some(),
            kv_usage: kv_usage.is_some(),
            cache: self.block_size > 0 || self.num_blocks > 0,
            lora: self.lora.is_some(),
        };
        let name = previous
            .engine
            .as_ref()
            .filter(|name| *name == engine.name());
        let or_previous = |new: u32, old: u32| if new > 0 { new } else { old };
        let lora = self.lora.map(|(_, labels)| lora(&previous.lora, labels));
        let metrics = Metrics {
            grace: std::time::Duration::ZERO,
            updated: if self.is_whole(engine, found, previous) {
                Some(now)
            } else {
                previous.updated
            },
            engine: if found.load() {
                Some(Arc::clone(name.unwrap_or_else(|| engine.name())))
            } else {
                previous.engine.clone()
            },
            waiting: waiting.map_or(previous.waiting, |sum| whole(sum.total)),
            running: running.map_or(previous.running, |sum| whole(sum.total)),
            kv_usage: kv_usage.map_or(previous.kv_usage, Sum::mean),
            block_size: or_previous(self.block_size, previous.block_size),
            num_blocks: or_previous(self.num_blocks, previous.num_blocks),
            lora: lora.unwrap_or_else(|| Arc::clone(&previous.lora)),
        };
        Extract { metrics, found }
    }
}

// === impl Sum ===

impl Sum {
    fn mean(self) -> f32 {
        (self.total / f64::from(self.count.max(1))) as f32
    }
}

fn read(engine: &Engine, page: &[u8], previous: &Metrics, now: Instant) -> Extract {
    let mut tally = Tally::default();
    engine
        .families()
        .scan(page, &mut |sample| tally.add(engine, &sample));
    tally.finish(engine, previous, now)
}

fn add_at(sums: &mut [Sum; RANKS], rank: usize, value: f64) {
    if let Some(sum) = sums.get_mut(rank) {
        sum.total += value;
        sum.count += 1;
    }
}

fn first(sums: &[Sum; RANKS]) -> Option<Sum> {
    sums.iter().find(|sum| sum.count > 0).copied()
}

/// A count: negative is none, and too large is the largest.
fn whole(value: f64) -> u32 {
    value as u32
}

/// Number in a label; 0 if it is absent or none.
fn number(labels: Labels<'_>, name: &str) -> u32 {
    let text = labels.get(name).map(|value| value.text());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Adapters as `labels` tell them: `previous` itself if they tell the same.
fn lora(previous: &Arc<Lora>, labels: Labels<'_>) -> Arc<Lora> {
    let list = |name| {
        labels
            .get(name)
            .map_or(Cow::Borrowed(""), |value| value.text())
    };
    let (running, waiting) = (list("running_lora_adapters"), list("waiting_lora_adapters"));
    let max = list("max_lora").trim().parse().unwrap_or(previous.max);
    let active = adapters(&running);
    let queued = adapters(&waiting).filter(|name| !adapters(&running).any(|other| other == *name));
    let same = previous.max == max
        && active
            .clone()
            .eq(previous.active.iter().map(|name| &**name))
        && queued
            .clone()
            .eq(previous.waiting.iter().map(|name| &**name));
    if same {
        return Arc::clone(previous);
    }
    Arc::new(Lora {
        max,
        active: active.map(Box::from).collect(),
        waiting: queued.map(Box::from).collect(),
    })
}

fn adapters(list: &str) -> impl Iterator<Item = &str> + Clone {
    let names = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    names.take(LORA_NAMES)
}

#[cfg(test)]
mod tests;
