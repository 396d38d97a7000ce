//! What the flags of `suimon epp` amount to: errors, warnings, the configuration's text.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use suimon_api::parse_picker_config;
use suimon_api::quantity::Quantity;
use suimon_picker::{Registry, Stability};
use suimon_routing::table::{BackendProtocol, PickerRef, PoolSpec};

use crate::cli::epp::{EppArgs, InertArgs, PoolArgs, RefusedArgs, TlsArgs};

/// Most ports of `--endpoint-target-ports`.
const PORTS: usize = 8;

/// Checks the flags and gives the pool that they describe.
///
/// # Errors
/// Flags that contradict each other or ask for what there is not, in the peer's words where it has
/// some.
pub(super) fn pool(args: &EppArgs, registry: &Registry) -> anyhow::Result<PoolSpec> {
    refused(&args.refused, args.without_effect.metrics_endpoint_auth)?;
    selection(&args.pool)?;
    let inert = &args.without_effect;
    size("grpc-max-recv-msg-size", &inert.grpc_max_recv_msg_size)?;
    size("grpc-max-send-msg-size", &inert.grpc_max_send_msg_size)?;
    let (source, config) = config(&args.pool)?;
    if !args.pool.allow_experimental_plugins {
        experimental(&config, registry)?;
    }
    for warning in warnings(inert, &args.serving.tls) {
        tracing::warn!("{warning}");
    }
    Ok(PoolSpec {
        namespace: namespace(&args.pool).into(),
        name: args.pool.pool_name.as_str().into(),
        picker: PickerRef::Inside {
            source: source.into(),
            config: Arc::from(config),
        },
        fail_open: false,
        protocol: BackendProtocol::default(),
        members: Vec::new(),
        objectives: Vec::new(),
        rewrites: Vec::new(),
    })
}

fn refused(refused: &RefusedArgs, auth: bool) -> anyhow::Result<()> {
    for (flag, value) in [
        (
            "total-queued-requests-metric",
            &refused.total_queued_requests_metric,
        ),
        (
            "total-running-requests-metric",
            &refused.total_running_requests_metric,
        ),
        (
            "kv-cache-usage-percentage-metric",
            &refused.kv_cache_usage_percentage_metric,
        ),
        ("lora-info-metric", &refused.lora_info_metric),
        ("cache-info-metric", &refused.cache_info_metric),
    ] {
        ensure!(
            value.is_none(),
            "flag {flag:?} is deprecated and cannot be used; configure metrics via engineConfigs in \
             EndpointPickerConfig instead"
        );
    }
    let has = |path: &str| !path.is_empty();
    let (directory, authorities) = (&refused.metrics_cert_dir, &refused.metrics_client_ca_file);
    ensure!(
        has(directory) || !has(authorities),
        "\"metrics-client-ca-file\" requires \"metrics-cert-dir\""
    );
    ensure!(
        !has(directory) || has(authorities) || auth,
        "\"metrics-cert-dir\" enables metrics TLS without authentication; set \
         \"metrics-client-ca-file\" or \"metrics-endpoint-auth\""
    );
    ensure!(
        !has(directory),
        "\"metrics-cert-dir\": TLS on the metrics port is not supported yet; leave it out and keep the \
         port inside a network that you trust"
    );
    Ok(())
}

fn selection(pool: &PoolArgs) -> anyhow::Result<()> {
    let selects = !pool.endpoint_selector.is_empty();
    ensure!(
        pool.pool_name.is_empty() == selects,
        "either pool-name or endpoint-selector must be set"
    );
    for &port in &pool.endpoint_target_ports {
        ensure!(
            (0..=65_535).contains(&port),
            "invalid port number {port} in \"endpoint-target-ports\""
        );
    }
    if !selects {
        return Ok(());
    }
    let mut ports = pool.endpoint_target_ports.clone();
    ports.sort_unstable();
    ports.dedup();
    ensure!(
        (1..=PORTS).contains(&ports.len()),
        "flag \"endpoint-target-ports\" should have length from 1 to {PORTS}"
    );
    bail!(
        "endpoint-selector needs a Kubernetes cluster, which is not supported yet; list the endpoints \
         in a file instead: --pool-name, and {DISCOVERY}"
    );
}

/// How endpoints are found.
pub(super) const DISCOVERY: &str = "in the configuration a plugin `{type: file-discovery, \
     parameters: {path: endpoints.yaml}}` with `dataLayer: {discovery: {pluginRef: file-discovery}}`";

/// The size is checked although it changes nothing, so that a typing error does not stay.
fn size(flag: &str, text: &str) -> anyhow::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    ensure!(
        !text.starts_with('-'),
        "{flag} must be non-negative, got {text}"
    );
    let quantity = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let read: Result<Quantity, serde::de::value::Error> =
        Quantity::deserialize(quantity.into_deserializer());
    read.map(drop).with_context(|| format!("invalid {flag}"))
}

/// Where the configuration stands, and its text.
fn config(pool: &PoolArgs) -> anyhow::Result<(String, String)> {
    match (&pool.config_file, &pool.config_text) {
        (Some(_), Some(_)) => bail!(
            "both the \"config-file\" and \"config-text\" flags cannot be set at the same time"
        ),
        (None, None) => bail!(
            "no configuration: --config-file or --config-text gives an EndpointPickerConfig; it has to \
             say where endpoints are, which is {DISCOVERY}"
        ),
        (Some(path), None) => {
            let text = crate::wire::load::read(path);
            let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
            Ok((path.display().to_string(), text))
        }
        (None, Some(text)) => Ok(("--config-text".to_owned(), text.clone())),
    }
}

/// What else is wrong with the configuration is told when it is built.
fn experimental(config: &str, registry: &Registry) -> anyhow::Result<()> {
    let Ok(config) = parse_picker_config(config) else {
        return Ok(());
    };
    for plugin in &config.plugins {
        let known = registry.get(&plugin.kind);
        ensure!(
            known.is_none_or(|known| known.stability != Stability::Alpha),
            "plugin type `{}` is experimental: --allow-experimental-plugins takes it",
            plugin.kind
        );
    }
    Ok(())
}

fn namespace(pool: &PoolArgs) -> String {
    if !pool.pool_namespace.is_empty() {
        return pool.pool_namespace.clone();
    }
    let inherited = std::env::var("NAMESPACE").ok();
    let inherited = inherited.filter(|name| !name.is_empty());
    inherited.unwrap_or_else(|| "default".to_owned())
}

/// What somebody may expect of a flag that it does not do.
fn warnings(inert: &InertArgs, tls: &TlsArgs) -> Vec<String> {
    let reload = tls.enable_cert_reload && tls.cert_path.is_empty();
    let told = [
        (
            inert.ha_enable_leader_election,
            "--ha-enable-leader-election: there is no election without a cluster; this replica leads",
        ),
        (
            inert.emit_endpoint_scores,
            "--emit-endpoint-scores: the proxy is told no scores yet; /api/decisions has them",
        ),
        (
            inert.enable_grpc_stream_metrics,
            "--enable-grpc-stream-metrics: there are no metrics of streams yet",
        ),
        (
            inert.tracing == Some(true),
            "--tracing: no traces are made yet",
        ),
        (
            inert.enable_pprof == Some(true),
            "--enable-pprof: there are no profiles of the process",
        ),
        (
            inert.refresh_metrics_interval != Duration::from_millis(50),
            "--refresh-metrics-interval: endpoints are scraped as `interval` of metrics-data-source says",
        ),
        (
            inert.metrics_staleness_threshold != Duration::from_secs(2),
            "--metrics-staleness-threshold: metrics are unknown after 2s; it cannot be changed yet",
        ),
        (
            reload,
            "--enable-cert-reload: without --cert-path there is nothing to follow",
        ),
    ];
    let told = told.into_iter().filter(|(tell, _)| *tell);
    told.map(|(_, text)| text.to_owned()).collect()
}
