//! The page against lines of a real one.

use super::*;

fn metrics() -> Metrics {
    let mut metrics = Metrics::new(1_796_057_376.76);
    metrics.cache_queries = 1_234_567;
    metrics.finish(Finished {
        reason: "length",
        prompt_tokens: 5,
        generation_tokens: 3,
        max_tokens: Some(3),
        queue: Duration::from_millis(100),
        prefill: Duration::from_millis(300),
        decode: Duration::from_millis(50),
    });
    metrics
}

fn page(only: &[&str]) -> String {
    let config = Config {
        model: "tiny".to_owned(),
        max_loras: 2,
        ..Config::default()
    };
    let load = Load {
        running: 128,
        waiting: 202,
        deferred: 42,
        kv_cache_usage: 0.25,
    };
    let set = LoraSet {
        running: "a,b".to_owned(),
        waiting: String::new(),
        seen: 1_796_057_397.456_576,
    };
    let only: Vec<String> = only.iter().map(ToString::to_string).collect();
    metrics().page(&config, &load, &[set], &only)
}

#[test]
fn lines_are_those_of_vllm() {
    let page = page(&[]);
    for line in [
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        "# TYPE vllm:num_requests_running gauge",
        r#"vllm:num_requests_running{engine="0",model_name="tiny"} 128.0"#,
        r#"vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="capacity"} 160.0"#,
        r#"vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.25"#,
        "# TYPE vllm:prefix_cache_queries_total counter",
        r#"vllm:prefix_cache_queries_total{engine="0",model_name="tiny"} 1.234567e+06"#,
        r#"vllm:prefix_cache_queries_created{engine="0",model_name="tiny"} 1.79605737676e+09"#,
        r#"vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 1.0"#,
        r#"vllm:request_prompt_tokens_bucket{engine="0",le="2.0",model_name="tiny"} 0.0"#,
        r#"vllm:request_prompt_tokens_bucket{engine="0",le="5.0",model_name="tiny"} 1.0"#,
        r#"vllm:request_prompt_tokens_bucket{engine="0",le="+Inf",model_name="tiny"} 1.0"#,
        r#"vllm:request_prompt_tokens_count{engine="0",model_name="tiny"} 1.0"#,
        r#"vllm:request_prompt_tokens_sum{engine="0",model_name="tiny"} 5.0"#,
        r#"vllm:lora_requests_info{max_lora="2",running_lora_adapters="a,b",waiting_lora_adapters=""} 1.796057397456576e+09"#,
    ] {
        assert!(
            page.lines().any(|found| found == line),
            "no `{line}` in\n{page}"
        );
    }
    let info = page
        .lines()
        .find(|line| line.starts_with("vllm:cache_config_info{"))
        .unwrap();
    assert!(info.contains("block_size=\"16\"") && info.contains("num_gpu_blocks=\"1024\""));
    assert!(info.ends_with("} 1.0"));
}

#[test]
fn names_select_samples() {
    let page = page(&[
        "vllm:num_requests_waiting",
        "vllm:request_queue_time_seconds_sum",
    ]);
    let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        samples,
        [
            r#"vllm:num_requests_waiting{engine="0",model_name="tiny"} 202.0"#,
            r#"vllm:request_queue_time_seconds_sum{engine="0",model_name="tiny"} 0.1"#,
        ]
    );
}
