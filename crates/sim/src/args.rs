//! Command line of the simulator.

use crate::config::Config;

/// Simulate a vLLM model server: OpenAI and Anthropic endpoints, metrics, latency, KV cache
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Example: an 8B model on one H100, with two adapters
  suimon sim --port 8001 --model llama --max-model-len 8192 \\
    --prefill-overhead 30ms --prefill-time-per-token 250us --inter-token-latency 12ms \\
    --time-factor-under-load 2 --max-num-seqs 64 --lora-modules medical korean-law --max-loras 2
  curl localhost:8001/v1/chat/completions \\
    -d '{\"model\":\"llama\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}'")]
pub struct Args {
    /// What to simulate
    #[command(flatten)]
    pub config: Config,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::config::{Calculator, Mode};
    use crate::delay::Delay;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: super::Args,
    }

    #[test]
    fn no_flags_give_the_documented_defaults() {
        let config = Cli::try_parse_from(["sim"]).unwrap().args.config;
        assert_eq!(
            (config.port, config.max_num_seqs, config.block_size),
            (8000, 5, 16)
        );
        assert_eq!((config.max_model_len, config.kv_cache_size), (1024, 1024));
        assert_eq!(config.mode, Mode::Random);
        assert!(config.enable_kvcache);
    }

    #[test]
    fn flags_are_read() {
        let config = Cli::try_parse_from([
            "sim",
            "--latency-calculator",
            "per-token",
            "--prefill-time-per-token",
            "250us",
            "--lora-modules",
            "a",
            r#"{"name":"b","path":"/b"}"#,
            "--enable-kvcache=false",
            "--failure-types",
            "rate_limit",
        ])
        .unwrap()
        .args
        .config;
        assert_eq!(config.tuning.latency_calculator, Calculator::PerToken);
        assert_eq!(
            config.tuning.prefill_time_per_token,
            Delay::from_micros(250)
        );
        let names: Vec<&str> = config.lora_modules.iter().map(|lora| &*lora.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(!config.enable_kvcache);
    }

    #[test]
    fn wrong_values_name_what_is_accepted() {
        let error = Cli::try_parse_from(["sim", "--block-size", "7"])
            .err()
            .unwrap();
        assert!(error.to_string().contains("8, 16, 32, 64, 128"), "{error}");
    }
}
