//! What a replica has measured, and its Prometheus page as vLLM writes it.

pub(crate) mod page;

use std::time::Duration;

use crate::config::Config;
use crate::lora::LoraSet;
use crate::scheduler::Load;
use page::Page;

/// Counters and histograms of one replica.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// Start of the replica, in seconds since the Unix epoch.
    created: f64,
    pub(crate) prompt_tokens: u64,
    /// Prompt tokens looked up in the prefix cache.
    pub(crate) cache_queries: u64,
    /// Prompt tokens found there.
    pub(crate) cache_hits: u64,
    pub(crate) generation_tokens: u64,
    pub(crate) rejections: u64,
    /// Finished sequences in the order of [`REASONS`].
    finished: [u64; REASONS.len()],
    request_prompt_tokens: Histogram,
    request_generation_tokens: Histogram,
    request_max_tokens: Histogram,
    pub(crate) time_to_first_token: Histogram,
    pub(crate) inter_token: Histogram,
    time_per_output_token: Histogram,
    end_to_end: Histogram,
    queue: Histogram,
    inference: Histogram,
    prefill: Histogram,
    decode: Histogram,
}

/// A cumulative histogram.
#[derive(Debug)]
pub(crate) struct Histogram {
    edges: &'static [f64],
    /// One for each edge and one for +Inf, not cumulative.
    counts: Vec<u64>,
    sum: f64,
}

/// A sequence that ran to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    pub(crate) reason: &'static str,
    pub(crate) prompt_tokens: usize,
    pub(crate) generation_tokens: usize,
    pub(crate) max_tokens: Option<usize>,
    pub(crate) queue: Duration,
    pub(crate) prefill: Duration,
    pub(crate) decode: Duration,
}

const REASONS: [&str; 5] = ["stop", "length", "abort", "error", "repetition"];

const TOKEN_EDGES: &[f64] = &[
    1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0,
];

const FIRST_TOKEN_EDGES: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];

const OUTPUT_TOKEN_EDGES: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];

const REQUEST_EDGES: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

// === impl Metrics ===

impl Metrics {
    pub(crate) fn new(created: f64) -> Self {
        Self {
            created,
            prompt_tokens: 0,
            cache_queries: 0,
            cache_hits: 0,
            generation_tokens: 0,
            rejections: 0,
            finished: [0; REASONS.len()],
            request_prompt_tokens: Histogram::new(TOKEN_EDGES),
            request_generation_tokens: Histogram::new(TOKEN_EDGES),
            request_max_tokens: Histogram::new(TOKEN_EDGES),
            time_to_first_token: Histogram::new(FIRST_TOKEN_EDGES),
            inter_token: Histogram::new(OUTPUT_TOKEN_EDGES),
            time_per_output_token: Histogram::new(OUTPUT_TOKEN_EDGES),
            end_to_end: Histogram::new(REQUEST_EDGES),
            queue: Histogram::new(REQUEST_EDGES),
            inference: Histogram::new(REQUEST_EDGES),
            prefill: Histogram::new(REQUEST_EDGES),
            decode: Histogram::new(REQUEST_EDGES),
        }
    }

    /// Counts a sequence that ended without an answer: `abort` or `error`.
    pub(crate) fn count(&mut self, reason: &str) {
        if let Some(at) = REASONS.iter().position(|known| *known == reason) {
            self.finished[at] += 1;
        }
    }

    /// Records a sequence that ran to its end.
    pub(crate) fn finish(&mut self, run: Finished) {
        self.count(run.reason);
        self.request_prompt_tokens.observe(run.prompt_tokens as f64);
        self.request_generation_tokens
            .observe(run.generation_tokens as f64);
        if let Some(max) = run.max_tokens {
            self.request_max_tokens.observe(max as f64);
        }
        let inference = run.prefill + run.decode;
        self.end_to_end
            .observe((run.queue + inference).as_secs_f64());
        self.queue.observe(run.queue.as_secs_f64());
        self.inference.observe(inference.as_secs_f64());
        self.prefill.observe(run.prefill.as_secs_f64());
        self.decode.observe(run.decode.as_secs_f64());
        if run.generation_tokens > 1 {
            let steps = (run.generation_tokens - 1) as f64;
            self.time_per_output_token
                .observe(run.decode.as_secs_f64() / steps);
        }
    }

    /// The Prometheus page, limited to the samples called `only` unless that is empty.
    pub(crate) fn page(
        &self,
        config: &Config,
        load: &Load,
        loras: &[LoraSet],
        only: &[String],
    ) -> String {
        let mut page = Page::new(config.primary_name(), self.created, only);
        Self::write_load(&mut page, load);
        self.write_counters(&mut page);
        self.write_histograms(&mut page);
        write_loras(&mut page, config, loras);
        write_cache_config(&mut page, config);
        page.finish()
    }

    fn write_load(page: &mut Page<'_>, load: &Load) {
        page.gauge(
            "vllm:num_requests_running",
            "Number of requests in model execution batches.",
            load.running as f64,
        );
        page.gauge(
            "vllm:num_requests_waiting",
            "Number of requests waiting to be processed.",
            load.waiting as f64,
        );
        let help = "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for \
                    scheduling capacity; 'deferred' = deferred by transient constraints (LoRA \
                    budget, KV transfer, blocked status). Sum of all reasons equals \
                    vllm:num_requests_waiting.";
        let model = page.model_label();
        let capacity = load.waiting.saturating_sub(load.deferred);
        let rows = [("capacity", capacity), ("deferred", load.deferred)].map(|(reason, count)| {
            (
                format!("engine=\"0\",{model},reason=\"{reason}\""),
                count as f64,
            )
        });
        page.family("vllm:num_requests_waiting_by_reason", "gauge", help, &rows);
        page.gauge(
            "vllm:kv_cache_usage_perc",
            "KV-cache usage. 1 means 100 percent usage.",
            load.kv_cache_usage,
        );
    }

    fn write_counters(&self, page: &mut Page<'_>) {
        for (name, help, value) in [
            (
                "vllm:prefix_cache_queries",
                "Prefix cache queries, in terms of number of queried tokens.",
                self.cache_queries,
            ),
            (
                "vllm:prefix_cache_hits",
                "Prefix cache hits, in terms of number of cached tokens.",
                self.cache_hits,
            ),
            (
                "vllm:num_preemptions",
                "Cumulative number of preemption from the engine.",
                0,
            ),
            (
                "vllm:prompt_tokens",
                "Number of prefill tokens processed.",
                self.prompt_tokens,
            ),
            (
                "vllm:prompt_tokens_cached",
                "Number of cached prompt tokens (local + external).",
                self.cache_hits,
            ),
            (
                "vllm:generation_tokens",
                "Number of generation tokens processed.",
                self.generation_tokens,
            ),
        ] {
            let labels = page.base_labels();
            page.counter(name, help, &[(labels, value as f64)]);
        }
        let model = page.model_label();
        let rows: Vec<_> = REASONS
            .iter()
            .zip(self.finished)
            .map(|(reason, count)| {
                (
                    format!("engine=\"0\",finished_reason=\"{reason}\",{model}"),
                    count as f64,
                )
            })
            .collect();
        page.counter(
            "vllm:request_success",
            "Count of successfully processed requests.",
            &rows,
        );
        let rows = [(
            format!("{model},reason=\"max_num_queued_reqs\""),
            self.rejections as f64,
        )];
        let help = "Number of admission attempts rejected by a queue limit, by reason.";
        page.counter("vllm:admission_rejections", help, &rows);
    }

    fn write_histograms(&self, page: &mut Page<'_>) {
        for (name, help, histogram) in [
            (
                "vllm:request_prompt_tokens",
                "Number of prefill tokens processed.",
                &self.request_prompt_tokens,
            ),
            (
                "vllm:request_generation_tokens",
                "Number of generation tokens processed.",
                &self.request_generation_tokens,
            ),
            (
                "vllm:request_max_num_generation_tokens",
                "Histogram of maximum number of requested generation tokens.",
                &self.request_generation_tokens,
            ),
            (
                "vllm:request_params_max_tokens",
                "Histogram of the max_tokens request parameter.",
                &self.request_max_tokens,
            ),
            (
                "vllm:time_to_first_token_seconds",
                "Histogram of time to first token in seconds.",
                &self.time_to_first_token,
            ),
            (
                "vllm:inter_token_latency_seconds",
                "Histogram of inter-token latency in seconds.",
                &self.inter_token,
            ),
            (
                "vllm:request_time_per_output_token_seconds",
                "Histogram of time_per_output_token_seconds per request.",
                &self.time_per_output_token,
            ),
            (
                "vllm:e2e_request_latency_seconds",
                "Histogram of e2e request latency in seconds.",
                &self.end_to_end,
            ),
            (
                "vllm:request_queue_time_seconds",
                "Histogram of time spent in WAITING phase for request.",
                &self.queue,
            ),
            (
                "vllm:request_inference_time_seconds",
                "Histogram of time spent in RUNNING phase for request.",
                &self.inference,
            ),
            (
                "vllm:request_prefill_time_seconds",
                "Histogram of time spent in PREFILL phase for request.",
                &self.prefill,
            ),
            (
                "vllm:request_decode_time_seconds",
                "Histogram of time spent in DECODE phase for request.",
                &self.decode,
            ),
        ] {
            page.histogram(name, help, histogram);
        }
    }
}

fn write_loras(page: &mut Page<'_>, config: &Config, loras: &[LoraSet]) {
    let rows: Vec<_> = loras
        .iter()
        .map(|set| {
            let labels = format!(
                "max_lora=\"{}\",running_lora_adapters=\"{}\",waiting_lora_adapters=\"{}\"",
                config.max_loras,
                page::escape(&set.running),
                page::escape(&set.waiting)
            );
            (labels, set.seen)
        })
        .collect();
    page.family(
        "vllm:lora_requests_info",
        "gauge",
        "Running stats on lora requests.",
        &rows,
    );
}

fn write_cache_config(page: &mut Page<'_>, config: &Config) {
    let caching = if config.enable_kvcache {
        "True"
    } else {
        "False"
    };
    let labels = format!(
        "block_size=\"{}\",cache_dtype=\"auto\",enable_prefix_caching=\"{caching}\",engine=\"0\",\
         gpu_memory_utilization=\"0.92\",kv_cache_size_tokens=\"{}\",num_cpu_blocks=\"None\",\
         num_gpu_blocks=\"{}\",num_gpu_blocks_override=\"None\",sliding_window=\"None\"",
        config.block_size,
        config.kv_cache_size * config.block_size,
        config.kv_cache_size
    );
    let help = "Information of the LLMEngine CacheConfig";
    page.family("vllm:cache_config_info", "gauge", help, &[(labels, 1.0)]);
}

// === impl Histogram ===

impl Histogram {
    fn new(edges: &'static [f64]) -> Self {
        Self {
            edges,
            counts: vec![0; edges.len() + 1],
            sum: 0.0,
        }
    }

    pub(crate) fn observe(&mut self, value: f64) {
        let at = self.edges.partition_point(|edge| *edge < value);
        self.counts[at] += 1;
        self.sum += value;
    }
}

#[cfg(test)]
mod tests;
