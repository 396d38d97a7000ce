//! Metrics pages: whatever a server answers, the figures stay in their ranges.

use std::time::Instant;

use suimon_datalayer::engine_names::Engine;
use suimon_datalayer::extract::Extractor;
use suimon_datalayer::prom;
use suimon_picker::metrics::Metrics;

suimon_fuzz::fuzz_target!(prom_text, check);

fn check(page: &[u8]) {
    let extractor = Extractor::default();
    let now = Instant::now();
    let first = extractor.extract(page, None, &Metrics::default(), now);
    check_ranges(&first.metrics);
    assert!(
        first.found.load() || first.metrics.updated.is_none(),
        "a page without load figures says nothing fresh"
    );
    let second = extractor.extract(page, None, &first.metrics, now);
    assert_eq!(
        second.metrics, first.metrics,
        "the same page twice tells the same"
    );
    for engine in Engine::built_in() {
        check_ranges(
            &extractor
                .extract(page, Some(&engine), &Metrics::default(), now)
                .metrics,
        );
    }
    prom::scan(
        page,
        &["vllm:num_requests_running", "vllm:lora_requests_info"],
        &mut |sample| {
            for name in ["engine", "running_lora_adapters", "waiting_lora_adapters"] {
                if let Some(value) = sample.labels.get(name) {
                    assert!(
                        value.text().len() <= page.len() * 3,
                        "a label is no longer than its page"
                    );
                }
            }
        },
    );
}

fn check_ranges(metrics: &Metrics) {
    let usage = metrics.kv_usage;
    assert!((0.0..=1.0).contains(&usage), "KV-cache usage {usage}");
}
