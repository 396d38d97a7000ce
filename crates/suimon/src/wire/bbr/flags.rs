//! What is wrong with the flags of `suimon bbr`.

use anyhow::ensure;

use crate::cli::bbr::BbrArgs;

/// Tells what somebody may expect of a flag that it does not do.
///
/// # Errors
/// Flags that contradict each other or ask for what there is not.
pub(super) fn check(args: &BbrArgs) -> anyhow::Result<()> {
    let serving = &args.serving;
    let ports = [
        ("--grpc-port", serving.grpc_port),
        ("--grpc-health-port", serving.grpc_health_port),
        ("--metrics-port", serving.metrics_port),
    ];
    for (index, (flag, port)) in ports.iter().enumerate() {
        for (other, same) in &ports[..index] {
            ensure!(
                port != same || *port == 0,
                "{other} and {flag} must differ; both are {port}"
            );
        }
    }
    let inert = &args.without_effect;
    if let Some(plugin) = inert.plugins.first() {
        anyhow::bail!(
            "--plugin {plugin:?}: there are no plugins here; what body-field-to-header and \
             base-model-to-header do for the field `model` is built in"
        );
    }
    let tls = &serving.tls;
    for (tell, text) in [
        (
            inert.tracing == Some(true),
            "--tracing: no traces are made yet",
        ),
        (
            inert.enable_pprof == Some(true),
            "--enable-pprof: there are no profiles of the process",
        ),
        (
            inert.metrics_endpoint_auth == Some(true),
            "--metrics-endpoint-auth: without a cluster, metrics are open to whoever reaches the port",
        ),
        (
            tls.enable_cert_reload && tls.cert_path.is_empty(),
            "--enable-cert-reload: without --cert-path there is nothing to follow",
        ),
    ] {
        if tell {
            tracing::warn!("{text}");
        }
    }
    Ok(())
}
