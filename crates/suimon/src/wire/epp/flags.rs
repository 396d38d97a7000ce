//! What flags of `suimon epp` must be, beyond what each alone must be.

use anyhow::Context as _;
use suimon_api::quantity::Quantity;

use crate::cli::EppArgs;

/// # Errors
/// Flags that contradict each other, or ask for what is not there.
pub(super) fn check(args: &EppArgs) -> anyhow::Result<()> {
    deprecated(args)?;
    let (pool, selector) = (!args.pool_name.is_empty(), &args.endpoint_selector);
    anyhow::ensure!(
        pool || !selector.is_empty(),
        "either pool-name or endpoint-selector must be set"
    );
    anyhow::ensure!(
        selector.is_empty(),
        "--endpoint-selector needs a cluster, which is not supported yet; accepted: --pool-name, and \
         endpoints by `dataLayer.discovery` of the configuration"
    );
    anyhow::ensure!(
        args.endpoint_target_ports.len() <= 8,
        "flag \"endpoint-target-ports\" should have length from 1 to 8"
    );
    let ports = [args.grpc_port, args.grpc_health_port, args.metrics_port];
    let [a, b, c] = ports;
    anyhow::ensure!(
        (a != b || a == 0) && (b != c || b == 0) && (a != c || a == 0),
        "--grpc-port, --grpc-health-port and --metrics-port must differ"
    );
    let peer = &args.peer;
    anyhow::ensure!(
        peer.metrics_client_ca_file.is_empty() || !peer.metrics_cert_dir.is_empty(),
        "\"metrics-client-ca-file\" requires \"metrics-cert-dir\""
    );
    anyhow::ensure!(
        peer.metrics_cert_dir.is_empty(),
        "--metrics-cert-dir: TLS on the metrics port is not supported; accepted: plain text, which \
         --address can keep inside"
    );
    warn(args);
    Ok(())
}

fn deprecated(args: &EppArgs) -> anyhow::Result<()> {
    let peer = &args.peer;
    let flags = [
        (
            "total-queued-requests-metric",
            &peer.total_queued_requests_metric,
        ),
        (
            "total-running-requests-metric",
            &peer.total_running_requests_metric,
        ),
        (
            "kv-cache-usage-percentage-metric",
            &peer.kv_cache_usage_percentage_metric,
        ),
        ("lora-info-metric", &peer.lora_info_metric),
        ("cache-info-metric", &peer.cache_info_metric),
    ];
    for (name, value) in flags {
        anyhow::ensure!(
            value.is_none(),
            "flag {name:?} is deprecated and cannot be used; configure metrics via engineConfigs in \
             EndpointPickerConfig instead"
        );
    }
    Ok(())
}

/// Flags that have no effect, and what has it.
fn warn(args: &EppArgs) {
    let peer = &args.peer;
    let told = [
        (
            peer.ha_enable_leader_election,
            "--ha-enable-leader-election: without a cluster this process is the leader",
        ),
        (
            peer.emit_endpoint_scores,
            "--emit-endpoint-scores: not supported; `/api/decisions` on the metrics port has the scores",
        ),
        (
            peer.refresh_metrics_interval.as_millis() != 50,
            "--refresh-metrics-interval: `parameters.interval` of the metrics-data-source sets it",
        ),
        (
            peer.metrics_staleness_threshold.as_secs() != 2,
            "--metrics-staleness-threshold: the saturation detector's parameter sets it",
        ),
        (
            !args.grpc_max_send_msg_size.is_empty(),
            "--grpc-max-send-msg-size: no message is longer than 62,000 bytes of a body",
        ),
    ];
    for (_, warning) in told.iter().filter(|(set, _)| *set) {
        tracing::warn!("{warning}");
    }
}

/// Where the configuration stands, and its text.
///
/// # Errors
/// Both flags, none, or a file that cannot be read.
pub(super) fn config(args: &EppArgs) -> anyhow::Result<(String, String)> {
    match (&args.config_file, &args.config_text) {
        (Some(_), Some(_)) => anyhow::bail!(
            "both the \"config-file\" and \"config-text\" flags cannot be set at the same time"
        ),
        (Some(path), None) => {
            let text = std::fs::read_to_string(path);
            let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
            Ok((path.display().to_string(), text))
        }
        (None, Some(text)) => Ok(("--config-text".to_owned(), text.clone())),
        (None, None) => anyhow::bail!(
            "no configuration; accepted: --config-file or --config-text with an EndpointPickerConfig \
             that names its endpoints by `dataLayer.discovery`"
        ),
    }
}

/// Bytes that `--grpc-max-recv-msg-size` allows.
///
/// # Errors
/// It is no size.
pub(super) fn size(args: &EppArgs) -> anyhow::Result<Option<usize>> {
    let text = args.grpc_max_recv_msg_size.trim();
    let number = text.strip_suffix(['B', 'b']).unwrap_or(text);
    if number.is_empty() || number == "0" {
        return Ok(None);
    }
    let bytes = Quantity::parse(number).with_context(|| {
        format!("invalid grpc-max-recv-msg-size: `{text}`; accepted is a size such as `64Mi`")
    })?;
    Ok(usize::try_from(bytes.0).ok())
}
