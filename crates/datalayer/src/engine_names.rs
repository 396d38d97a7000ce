//! Which metric of which engine tells what. The one table of engines.

use std::sync::Arc;

use crate::error::EngineError;
use crate::metric_spec::MetricSpec;
use crate::params::EngineConfig;
use crate::prom::Families;

/// What a series tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// Requests that wait for a place in the batch.
    Waiting,
    /// Requests in the batch.
    Running,
    /// Share of KV-cache blocks in use.
    KvUsage,
    /// LoRA adapters, in labels; the value is the time of the change.
    Lora,
    /// Shape of the KV cache, in the two labels named.
    CacheInfo {
        /// Label with the tokens in one block.
        block_size: Box<str>,
        /// Label with the number of blocks.
        num_blocks: Box<str>,
    },
    /// Tokens in one block.
    BlockSize,
    /// Number of blocks.
    NumBlocks,
}

/// The metrics of one engine, ready to scan pages by.
#[derive(Debug, Clone)]
pub struct Engine {
    name: Arc<str>,
    families: Families,
    /// By family: the series of it that tell something.
    readers: Vec<Vec<Reader>>,
}

/// One selector with what it tells.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub(crate) spec: MetricSpec,
    pub(crate) signal: Signal,
    /// Of several selectors for one signal the lowest that is on the page counts.
    pub(crate) rank: usize,
}

/// Selectors for one signal are in order of preference; there are at most two.
pub(crate) const RANKS: usize = 2;

/// One line of the built-in table: family, label that it must have, signal.
type Line = (&'static str, Option<(&'static str, &'static str)>, Signal);

// === impl Engine ===

impl Engine {
    /// The built-in engines.
    #[must_use]
    pub fn built_in() -> Vec<Self> {
        vec![
            Self::vllm(),
            Self::sglang(),
            Self::trtllm_serve(),
            Self::triton_tensorrt_llm(),
            // Last: its names are also on the pages of the engines that Triton hosts.
            Self::triton(),
        ]
    }

    /// vLLM, both generations.
    #[must_use]
    pub fn vllm() -> Self {
        let cache = cache_info("block_size", "num_gpu_blocks");
        let lines = [
            ("vllm:num_requests_waiting", None, Signal::Waiting),
            ("vllm:num_requests_running", None, Signal::Running),
            ("vllm:kv_cache_usage_perc", None, Signal::KvUsage),
            // Its name in the first generation of the engine, and in both for a while.
            ("vllm:gpu_cache_usage_perc", None, Signal::KvUsage),
            ("vllm:lora_requests_info", None, Signal::Lora),
            ("vllm:cache_config_info", None, cache),
        ];
        Self::table("vllm", &lines)
    }

    fn sglang() -> Self {
        let cache = cache_info("page_size", "num_pages");
        let lines = [
            ("sglang:num_queue_reqs", None, Signal::Waiting),
            ("sglang:num_running_reqs", None, Signal::Running),
            ("sglang:token_usage", None, Signal::KvUsage),
            ("sglang:cache_config_info", None, cache),
        ];
        Self::table("sglang", &lines)
    }

    fn trtllm_serve() -> Self {
        let lines = [
            ("trtllm_num_requests_waiting", None, Signal::Waiting),
            ("trtllm_num_requests_running", None, Signal::Running),
            ("trtllm_kv_cache_utilization", None, Signal::KvUsage),
            ("trtllm_kv_cache_tokens_per_block", None, Signal::BlockSize),
            ("trtllm_kv_cache_max_blocks", None, Signal::NumBlocks),
        ];
        Self::table("trtllm-serve", &lines)
    }

    fn triton_tensorrt_llm() -> Self {
        let requests = "nv_trt_llm_request_metrics";
        let blocks = "nv_trt_llm_kv_cache_block_metrics";
        let request = |kind| Some(("request_type", kind));
        let block = |kind| Some(("kv_cache_block_type", kind));
        let lines = [
            (requests, request("waiting"), Signal::Waiting),
            (requests, request("scheduled"), Signal::Running),
            (blocks, block("fraction"), Signal::KvUsage),
            (blocks, block("tokens_per"), Signal::BlockSize),
            (blocks, block("max"), Signal::NumBlocks),
        ];
        Self::table("triton-tensorrt-llm", &lines)
    }

    fn triton() -> Self {
        let lines = [
            ("nv_inference_pending_request_count", None, Signal::Waiting),
            ("nv_inference_exec_count", None, Signal::Running),
        ];
        Self::table("triton", &lines)
    }

    /// An engine of the user's.
    ///
    /// # Errors
    /// [`EngineError::Spec`] names the field whose selector cannot be read.
    pub fn from_config(config: &EngineConfig) -> Result<Self, EngineError> {
        let info = Signal::CacheInfo {
            block_size: label_name(config.cache_block_size_label_name.as_deref(), "block_size"),
            num_blocks: label_name(
                config.cache_num_blocks_label_name.as_deref(),
                "num_gpu_blocks",
            ),
        };
        let fields = [
            (
                "queuedRequestsSpec",
                &config.queued_requests_spec,
                Signal::Waiting,
            ),
            (
                "runningRequestsSpec",
                &config.running_requests_spec,
                Signal::Running,
            ),
            ("kvUsageSpec", &config.kv_usage_spec, Signal::KvUsage),
            ("loraSpec", &config.lora_spec, Signal::Lora),
            ("cacheInfoSpec", &config.cache_info_spec, info),
            (
                "cacheBlockSizeSpec",
                &config.cache_block_size_spec,
                Signal::BlockSize,
            ),
            (
                "cacheNumBlocksSpec",
                &config.cache_num_blocks_spec,
                Signal::NumBlocks,
            ),
        ];
        let parse = |field, text: &str| {
            text.parse::<MetricSpec>()
                .map_err(|source| EngineError::Spec {
                    engine: config.name.clone(),
                    field,
                    source,
                })
        };
        let mut specs = Vec::new();
        for (field, text, signal) in fields {
            if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
                specs.push((parse(field, text)?, signal));
            }
        }
        for custom in &config.custom_metrics {
            parse("customMetrics", &custom.metric_spec)?;
        }
        Ok(Self::new(&config.name, specs))
    }

    /// Value of the engine label.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Names of the families that are read.
    pub fn family_names(&self) -> impl Iterator<Item = &str> {
        self.families.names()
    }

    pub(crate) fn families(&self) -> &Families {
        &self.families
    }

    /// Whether some family tells this.
    pub(crate) fn tells(&self, signal: &Signal) -> bool {
        self.readers
            .iter()
            .flatten()
            .any(|reader| reader.signal == *signal)
    }

    pub(crate) fn readers(&self, family: usize) -> &[Reader] {
        self.readers.get(family).map_or(&[], Vec::as_slice)
    }

    fn table(name: &str, lines: &[Line]) -> Self {
        let spec = |(family, label, signal): &Line| {
            let labels = label
                .iter()
                .map(|(key, value)| (Box::from(*key), Box::from(*value)));
            (MetricSpec::new(family, labels.collect()), signal.clone())
        };
        Self::new(name, lines.iter().map(spec).collect())
    }

    fn new(name: &str, specs: Vec<(MetricSpec, Signal)>) -> Self {
        let mut names: Vec<Box<str>> = Vec::new();
        let mut readers: Vec<Vec<Reader>> = Vec::new();
        for (place, (spec, signal)) in specs.iter().enumerate() {
            let earlier = specs.iter().take(place);
            let rank = earlier.filter(|(_, other)| other == signal).count();
            let reader = Reader {
                spec: spec.clone(),
                signal: signal.clone(),
                rank,
            };
            let known = names.iter().position(|name| **name == *spec.family());
            if let Some(of) = known.and_then(|family| readers.get_mut(family)) {
                of.push(reader);
            } else {
                names.push(Box::from(spec.family()));
                readers.push(vec![reader]);
            }
        }
        Self {
            name: Arc::from(name),
            families: Families::new(names.iter().map(|name| &**name)),
            readers,
        }
    }

    /// Whether `page` tells the load of this engine.
    fn is_on(&self, page: &[u8]) -> bool {
        let mut found = false;
        self.families.scan(page, &mut |sample| {
            found |= self.readers(sample.family).iter().any(|reader| {
                matches!(reader.signal, Signal::Waiting | Signal::Running)
                    && reader.spec.matches(sample.labels)
            });
        });
        found
    }
}

/// The first of `engines` that `page` tells the load of.
#[must_use]
pub fn recognise<'e>(engines: &'e [Engine], page: &[u8]) -> Option<&'e Engine> {
    engines.iter().find(|engine| engine.is_on(page))
}

fn cache_info(block_size: &str, num_blocks: &str) -> Signal {
    Signal::CacheInfo {
        block_size: Box::from(block_size),
        num_blocks: Box::from(num_blocks),
    }
}

fn label_name(given: Option<&str>, default: &str) -> Box<str> {
    Box::from(given.filter(|name| !name.is_empty()).unwrap_or(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_each_engine_by_its_names() {
        let engines = Engine::built_in();
        for (page, want) in [
            ("vllm:num_requests_running{engine=\"0\"} 0\n", Some("vllm")),
            ("up 1\nsglang:num_queue_reqs 0\n", Some("sglang")),
            ("trtllm_num_requests_waiting 3\n", Some("trtllm-serve")),
            (
                "nv_inference_exec_count 1\nnv_trt_llm_request_metrics{request_type=\"waiting\"} 0\n",
                Some("triton-tensorrt-llm"),
            ),
            (
                "nv_inference_pending_request_count{model=\"m\"} 0\n",
                Some("triton"),
            ),
            ("vllm:kv_cache_usage_perc 0.5\nup 1\n", None),
            ("", None),
        ] {
            let found = recognise(&engines, page.as_bytes()).map(|engine| &**engine.name());
            assert_eq!(found, want, "{page}");
        }
    }

    #[test]
    fn a_bad_selector_names_engine_and_field() {
        let config = EngineConfig {
            name: String::from("mine"),
            kv_usage_spec: Some(String::from("a{")),
            ..EngineConfig::default()
        };
        let error = Engine::from_config(&config).unwrap_err().to_string();
        assert!(
            error.contains("`mine`") && error.contains("kvUsageSpec"),
            "{error}"
        );
    }

    #[test]
    fn no_built_in_signal_has_more_selectors_than_are_kept() {
        for engine in Engine::built_in() {
            let most = engine
                .readers
                .iter()
                .flatten()
                .map(|reader| reader.rank)
                .max();
            assert!(most < Some(RANKS), "{}", engine.name);
        }
    }
}
