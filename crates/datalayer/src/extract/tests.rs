use std::collections::BTreeMap;

use suimon_picker::endpoint::EndpointSpec;

use super::*;
use crate::params::EngineConfig;

const IDLE: &str = include_str!("../../tests/data/metrics-idle.txt");
const BUSY_1: &str = include_str!("../../tests/data/metrics-busy-1.txt");
const BUSY_3: &str = include_str!("../../tests/data/metrics-busy-3.txt");
const AFTER: &str = include_str!("../../tests/data/metrics-after.txt");
const GOLDEN: &str = include_str!("../../tests/data/metrics-golden.txt");

fn extract(page: &str, previous: &Metrics) -> Extract {
    Extractor::default().extract(page.as_bytes(), None, previous, Instant::now())
}

fn first_of(page: &str) -> Metrics {
    extract(page, &Metrics::default()).metrics
}

fn names(list: &[Box<str>]) -> Vec<&str> {
    list.iter().map(|name| &**name).collect()
}

fn endpoint(labels: &[(&str, &str)]) -> Endpoint {
    let labels = labels
        .iter()
        .map(|(key, value)| (String::from(*key), String::from(*value)));
    Endpoint::new(EndpointSpec {
        id: Arc::from("default/a"),
        address: "10.0.0.1:8000".parse().unwrap(),
        labels: labels.collect::<BTreeMap<_, _>>(),
    })
}

#[test]
fn reads_pages_of_a_real_server() {
    for (page, waiting, running, kv_usage, block_size, num_blocks, max, active) in [
        (IDLE, 0, 0, 0.0, 128, 16384, 0, vec![]),
        (
            BUSY_1,
            261,
            69,
            0.008_728_56,
            128,
            16384,
            2,
            vec!["medical", "reasoning"],
        ),
        (
            BUSY_3,
            202,
            128,
            0.015_992_187,
            128,
            16384,
            2,
            vec!["medical", "reasoning"],
        ),
        (AFTER, 0, 0, 0.0, 128, 16384, 2, vec![]),
        (GOLDEN, 0, 0, 0.0, 32, 300, 2, vec![]),
    ] {
        let metrics = first_of(page);
        assert_eq!(metrics.engine.as_deref(), Some("vllm"));
        assert!(metrics.updated.is_some());
        assert_eq!((metrics.waiting, metrics.running), (waiting, running));
        assert!(
            (metrics.kv_usage - kv_usage).abs() < 1e-6,
            "{}",
            metrics.kv_usage
        );
        assert_eq!(
            (metrics.block_size, metrics.num_blocks),
            (block_size, num_blocks)
        );
        assert_eq!(
            (metrics.lora.max, names(&metrics.lora.active)),
            (max, active)
        );
        assert!(
            metrics.lora.waiting.is_empty(),
            "those with running requests are active"
        );
    }
}

#[test]
fn ranks_are_summed_and_averaged_in_any_order() {
    let mut lines = [
        "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 0",
        "vllm:num_requests_waiting{engine=\"1\",model_name=\"m\"} 40",
        "vllm:num_requests_running{engine=\"0\"} 3",
        "vllm:num_requests_running{engine=\"1\"} 4",
        "vllm:kv_cache_usage_perc{engine=\"0\"} 0.1",
        "vllm:kv_cache_usage_perc{engine=\"1\"} 0.9",
    ];
    for _ in 0..lines.len() {
        lines.rotate_left(1);
        let metrics = first_of(&lines.join("\n"));
        assert_eq!((metrics.waiting, metrics.running), (40, 7));
        assert!((metrics.kv_usage - 0.5).abs() < 1e-6);
    }
}

#[test]
fn both_generations_of_vllm_are_read_and_the_newer_name_wins() {
    let old = "vllm:num_requests_waiting 1\nvllm:gpu_cache_usage_perc 0.25\n";
    assert_eq!(first_of(old).kv_usage, 0.25);
    let both = format!("{old}vllm:kv_cache_usage_perc 0.75\n");
    assert_eq!(first_of(&both).kv_usage, 0.75);
}

#[test]
fn reads_the_other_engines() {
    for (page, engine) in [
        (
            "sglang:num_queue_reqs 2\nsglang:num_running_reqs 3\nsglang:token_usage 0.5\n\
             sglang:cache_config_info{page_size=\"16\",num_pages=\"100\"} 1\n",
            "sglang",
        ),
        (
            "trtllm_num_requests_waiting 2\ntrtllm_num_requests_running 3\n\
             trtllm_kv_cache_utilization 0.5\ntrtllm_kv_cache_tokens_per_block 16\n\
             trtllm_kv_cache_max_blocks 100\n",
            "trtllm-serve",
        ),
        (
            "nv_trt_llm_request_metrics{model=\"m\",request_type=\"waiting\"} 2\n\
             nv_trt_llm_request_metrics{model=\"m\",request_type=\"scheduled\"} 3\n\
             nv_trt_llm_request_metrics{model=\"m\",request_type=\"max\"} 512\n\
             nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\"} 0.5\n\
             nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"tokens_per\"} 16\n\
             nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"max\"} 100\n",
            "triton-tensorrt-llm",
        ),
    ] {
        let metrics = first_of(page);
        assert_eq!(metrics.engine.as_deref(), Some(engine));
        assert_eq!(
            (metrics.waiting, metrics.running, metrics.kv_usage),
            (2, 3, 0.5)
        );
        assert_eq!((metrics.block_size, metrics.num_blocks), (16, 100));
    }
}

#[test]
fn the_newest_lora_series_wins() {
    let page = "vllm:num_requests_waiting 0\n\
        vllm:lora_requests_info{max_lora=\"4\",running_lora_adapters=\"a,b\",waiting_lora_adapters=\"\"} 1.7e9\n\
        vllm:lora_requests_info{max_lora=\"4\",running_lora_adapters=\"b\",waiting_lora_adapters=\"c\"} 1.7000001e9\n\
        vllm:lora_requests_info{max_lora=\"4\",running_lora_adapters=\"a\",waiting_lora_adapters=\"\"} 1.6e9\n";
    let lora = first_of(page).lora;
    assert_eq!(
        (lora.max, names(&lora.active), names(&lora.waiting)),
        (4, vec!["b"], vec!["c"])
    );
}

#[test]
fn lora_names_are_trimmed_and_a_bad_maximum_is_ignored() {
    let page = |max: &str, running: &str, waiting: &str| {
        format!(
            "vllm:num_requests_waiting 0\nvllm:lora_requests_info{{max_lora=\"{max}\",\
             running_lora_adapters=\"{running}\",waiting_lora_adapters=\"{waiting}\"}} 1.7e9\n"
        )
    };
    let metrics = first_of(&page("4", "a, b,,", " c ,a"));
    assert_eq!(names(&metrics.lora.active), ["a", "b"]);
    assert_eq!(names(&metrics.lora.waiting), ["c"]);
    for bad in ["", "x", "-1", "1.5"] {
        assert_eq!(first_of(&page(bad, "a", "")).lora.max, 0);
        let next = extract(&page(bad, "a", ""), &metrics).metrics;
        assert_eq!((next.lora.max, names(&next.lora.active)), (4, vec!["a"]));
    }
}

#[test]
fn an_unchanged_page_shares_what_the_last_one_allocated() {
    let first = first_of(BUSY_1);
    let second = extract(BUSY_1, &first).metrics;
    assert!(Arc::ptr_eq(&first.lora, &second.lora));
    assert!(Arc::ptr_eq(
        first.engine.as_ref().unwrap(),
        second.engine.as_ref().unwrap()
    ));
    let third = extract(AFTER, &second).metrics;
    assert!(!Arc::ptr_eq(&second.lora, &third.lora));
}

#[test]
fn what_is_not_on_the_page_stays_but_only_a_load_figure_makes_it_fresh() {
    let first = first_of(BUSY_1);
    let kv_only = extract("vllm:kv_cache_usage_perc 0.5\n", &first);
    assert!(!kv_only.found.load() && kv_only.found.kv_usage);
    assert_eq!(
        (kv_only.metrics.waiting, kv_only.metrics.kv_usage),
        (261, 0.5)
    );
    assert_eq!(kv_only.metrics.updated, first.updated);
    let load_only = extract("vllm:num_requests_running 1\n", &first);
    assert!(load_only.metrics.updated > first.updated);
    assert_eq!(
        (load_only.metrics.waiting, load_only.metrics.running),
        (261, 1)
    );
    assert_eq!(load_only.metrics.lora, first.lora);
    assert!(!load_only.found.covers(kv_only.found));
}

#[test]
fn a_page_without_figures_says_nothing() {
    for page in [
        "",
        "up 1\n",
        "vllm:num_requests_waiting NaN\n",
        "\u{1f}\u{8b}\u{8}",
    ] {
        let found = extract(page, &Metrics::default());
        assert_eq!(found.metrics, Metrics::default(), "{page}");
        assert_eq!(found.found, Found::default());
    }
}

#[test]
fn absurd_numbers_are_brought_into_range() {
    let metrics = first_of(
        "vllm:num_requests_waiting -5\nvllm:num_requests_running 1e300\nvllm:kv_cache_usage_perc 95\n",
    );
    assert_eq!(
        (metrics.waiting, metrics.running, metrics.kv_usage),
        (0, u32::MAX, 1.0)
    );
}

#[test]
fn labels_name_the_engine_before_the_page_does() {
    let extractor = Extractor::default();
    let engine = |labels: &[(&str, &str)]| {
        let endpoint = endpoint(labels);
        extractor
            .labelled(&endpoint)
            .map(|engine| engine.name().to_string())
    };
    assert_eq!(engine(&[]), None);
    assert_eq!(
        engine(&[("llm-d.ai/engine-type", "sglang")]).as_deref(),
        Some("sglang")
    );
    let old = "inference.networking.k8s.io/engine-type";
    assert_eq!(engine(&[(old, "triton")]).as_deref(), Some("triton"));
    assert_eq!(
        engine(&[("llm-d.ai/engine-type", "unheard-of")]).as_deref(),
        Some("vllm")
    );
}

#[test]
fn an_endpoint_that_runs_another_engine_now_is_recognised_again() {
    let first = first_of(BUSY_1);
    let second = extract("sglang:num_queue_reqs 2\n", &first).metrics;
    assert_eq!(
        (second.engine.as_deref(), second.waiting),
        (Some("sglang"), 2)
    );
}

#[test]
fn engines_of_the_user_come_first_and_replace_built_in_ones() {
    let params = CoreMetricsParams {
        engine_configs: vec![
            EngineConfig {
                name: String::from("vllm"),
                queued_requests_spec: Some(String::from(
                    "vllm:num_requests_waiting_by_reason{reason=capacity}",
                )),
                ..EngineConfig::default()
            },
            EngineConfig {
                name: String::from("mine"),
                queued_requests_spec: Some(String::from("my_queue{kind=\"all\"}")),
                ..EngineConfig::default()
            },
        ],
        ..CoreMetricsParams::default()
    };
    let extractor = Extractor::new(&params).unwrap();
    let read = |page: &str| {
        let found = extractor.extract(page.as_bytes(), None, &Metrics::default(), Instant::now());
        found.metrics
    };
    assert_eq!(read(BUSY_1).waiting, 239);
    let mine =
        read("my_queue{kind=\"all\"} 5\nmy_queue{kind=\"some\"} 3\nvllm:num_requests_waiting 1\n");
    assert_eq!((mine.engine.as_deref(), mine.waiting), (Some("mine"), 5));
}

#[test]
fn bad_engine_configurations_are_refused() {
    let params = |names: &[&str], default: &str| CoreMetricsParams {
        default_engine: String::from(default),
        engine_configs: names
            .iter()
            .map(|name| EngineConfig {
                name: String::from(*name),
                ..EngineConfig::default()
            })
            .collect(),
        ..CoreMetricsParams::default()
    };
    assert!(matches!(
        Extractor::new(&params(&[""], "vllm")),
        Err(EngineError::Name { index: 0, .. })
    ));
    assert!(matches!(
        Extractor::new(&params(&["default"], "vllm")),
        Err(EngineError::Name { .. })
    ));
    assert!(matches!(
        Extractor::new(&params(&["a", "a"], "a")),
        Err(EngineError::Twice { index: 1, .. })
    ));
    let error = Extractor::new(&params(&[], "none"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`none`") && error.contains("sglang"),
        "{error}"
    );
}

#[test]
fn a_figure_that_was_never_there_is_unknown_and_not_zero() {
    const WAITING: &str = "vllm:num_requests_waiting 0\n";
    const RUNNING: &str = "vllm:num_requests_running 3\n";
    let page = |kv_usage: &str| format!("{WAITING}{RUNNING}vllm:kv_cache_usage_perc {kv_usage}\n");
    for lacking in [
        WAITING.to_owned(),
        RUNNING.to_owned(),
        format!("{WAITING}{RUNNING}"),
        page("NaN"),
        page("-1"),
    ] {
        assert_eq!(first_of(&lacking).updated, None, "{lacking}");
    }
    let whole = first_of(&page("0.5"));
    assert!(whole.updated.is_some());
    let later = extract(WAITING, &whole).metrics;
    assert!(later.updated > whole.updated, "what was known once stays");
    assert_eq!((later.running, later.kv_usage), (3, 0.5));
}
