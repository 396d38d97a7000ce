//! `suimon up`: a gateway in front of simulated or real model servers, without any file.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use anyhow::Context as _;
use suimon_picker::Registry;
use suimon_proxy::PublishError;
use suimon_routing::table::{PickerRef, PoolMember};
use suimon_routing::{Translation, World, translate};
use suimon_sim::{Config, Delay, Replica};

use super::gateway::{Running, runtime, standalone};
use super::{load, watch};
use crate::cli::UpArgs;

/// Runs until a signal.
///
/// # Errors
/// A port is taken, an endpoint's name cannot be resolved, or the picker configuration is wrong.
pub fn run(args: &UpArgs, registry: Registry) -> anyhow::Result<()> {
    let picker = match &args.picker_config {
        None => None,
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.with_context(|| format!("{} cannot be read", path.display()))?)
        }
    };
    runtime()?.block_on(async {
        let replicas = if args.endpoints.is_empty() {
            simulate(args).await?
        } else {
            Vec::new()
        };
        let endpoints: Vec<SocketAddr> = match replicas.as_slice() {
            [] => args
                .endpoints
                .iter()
                .map(|url| resolve(url))
                .collect::<anyhow::Result<_>>()?,
            replicas => replicas.iter().map(Replica::address).collect(),
        };
        let running = Running::start(&args.admin, &args.data_plane, registry).await?;
        let configuration = configure(args, &endpoints, picker)?;
        running
            .publish_first(configuration)
            .map_err(|error| match error.is::<PublishError>() {
                true => error.context("--port and --address choose another socket"),
                false => error,
            })?;
        println!(
            "{}",
            welcome(args, running.admin_address(), endpoints.len())
        );
        let never = || anyhow::bail!("nothing is watched");
        running.serve(watch::Changes::none(), never).await?;
        for replica in replicas {
            replica.stop().await;
        }
        Ok(())
    })
}

/// Starts the simulated replicas: an 8B model on one H100 each.
async fn simulate(args: &UpArgs) -> anyhow::Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for number in 0..args.replicas {
        let mut config = Config {
            port: 0,
            max_model_len: 32_768,
            max_num_seqs: 64,
            max_loras: 2,
            kv_cache_size: 16_384,
            pod_name: Some(format!("sim-{number}")),
            model: args.model.clone(),
            max_request_body_size_mb: 64,
            ..Config::default()
        };
        for lora in &args.loras {
            config
                .lora_modules
                .push(lora.parse().map_err(anyhow::Error::msg)?);
        }
        config.tuning.prefill_overhead = Delay::from_micros(30_000);
        config.tuning.prefill_time_per_token = Delay::from_micros(250);
        config.tuning.inter_token_latency = Delay::from_micros(12_000);
        config.tuning.time_factor_under_load = 2.0;
        replicas.push(Replica::start(config).await?);
    }
    Ok(replicas)
}

/// The address of an endpoint that a user named.
fn resolve(url: &str) -> anyhow::Result<SocketAddr> {
    let accepted = "accepted is http://HOST:PORT, as in http://10.0.0.5:8000";
    let uri: http::Uri = url
        .parse()
        .with_context(|| format!("endpoint `{url}`: {accepted}"))?;
    let plain = uri.scheme_str() == Some("http") && matches!(uri.path(), "" | "/");
    anyhow::ensure!(
        plain && uri.query().is_none(),
        "endpoint `{url}`: {accepted}"
    );
    let host = uri
        .host()
        .with_context(|| format!("endpoint `{url}`: {accepted}"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = (host, uri.port_u16().unwrap_or(80))
        .to_socket_addrs()
        .with_context(|| format!("endpoint `{url}`: the host cannot be resolved"))?;
    found
        .next()
        .with_context(|| format!("endpoint `{url}`: the host has no address"))
}

/// One listener, one route, one pool: the same documents that a user would write.
fn configure(
    args: &UpArgs,
    endpoints: &[SocketAddr],
    picker: Option<String>,
) -> anyhow::Result<Translation> {
    let text = include_str!("up.yaml")
        .replace("@ADDRESS@", &args.address.to_string())
        .replace("@PORT@", &args.port.to_string());
    let (mut world, mut faults) = (World::default(), Vec::new());
    load::add("suimon up", &text, &mut world, &mut faults);
    anyhow::ensure!(faults.is_empty(), "{}", faults.join("\n"));
    // Its endpoints are added below: that the documents have none is no fault.
    let mut translation = translate(&world, &standalone());
    let pool = translation
        .pools
        .first_mut()
        .context("the built-in pool is missing")?;
    let lead = if args.endpoints.is_empty() {
        "sim"
    } else {
        "endpoint"
    };
    pool.members = (0..)
        .zip(endpoints)
        .map(|(number, address): (usize, _)| PoolMember {
            id: Arc::from(format!("default/{lead}-{number}")),
            ip: address.ip(),
            port: address.port(),
            labels: std::collections::BTreeMap::new(),
        })
        .collect();
    if let (Some(config), Some(path)) = (picker, &args.picker_config) {
        let source = Arc::from(path.display().to_string());
        pool.picker = PickerRef::Inside {
            source,
            config: Arc::from(config),
        };
    }
    Ok(translation)
}

/// What the user sees first: where things are and a line to try.
fn welcome(args: &UpArgs, admin: SocketAddr, endpoints: usize) -> String {
    let reach = if args.address.is_unspecified() {
        SocketAddr::from(([127, 0, 0, 1], args.port))
    } else {
        SocketAddr::from((args.address, args.port))
    };
    let (what, model) = if args.endpoints.is_empty() {
        (
            format!("{endpoints} simulated vLLM replicas of {}", args.model),
            args.model.as_str(),
        )
    } else {
        (format!("{endpoints} model servers"), "MODEL")
    };
    format!(
        "suimon is up\n\n\
         \x20 gateway    http://{reach}  in front of {what}\n\
         \x20 dashboard  http://{admin}\n\n\
         try it:\n\n\
         \x20 curl http://{reach}/v1/chat/completions -H 'content-type: application/json' \\\n\
         \x20   -d '{{\"model\":\"{model}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'\n\n\
         Ctrl-C stops it.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_addresses_or_say_what_is_accepted() {
        assert_eq!(
            resolve("http://127.0.0.1:8000").unwrap(),
            ([127, 0, 0, 1], 8000).into()
        );
        assert_eq!(resolve("http://127.0.0.1").unwrap().port(), 80);
        assert_eq!(resolve("http://[::1]:81/").unwrap().to_string(), "[::1]:81");
        for wrong in [
            "127.0.0.1:8000",
            "https://a:1",
            "http://a:1/path",
            "http://",
            "x y",
        ] {
            let error = crate::chain(&resolve(wrong).unwrap_err());
            assert!(error.contains("http://HOST:PORT"), "{wrong}: {error}");
        }
    }
}
