//! A picker in another process: a Service, and annotations of the pool.

use std::sync::Arc;
use std::time::Duration;

use suimon_api::duration::parse_gateway;
use suimon_api::inference_pool::{EndpointPickerRef, InferencePool};

use super::super::super::{Context, Place, Report, services};
use super::FIELD;
use crate::problem::Severity;
use crate::table::{PickerRef, PickerTls, RemoteRef};
use crate::world::Key;

/// Annotations of ours.
const PREFIX: &str = "suimon.dev/";

/// How TLS is spoken to the picker: see [`PickerTls`].
const TLS: &str = "suimon.dev/picker-tls";

/// How long a pick may take. A picker with a queue needs more than the default.
const TIMEOUT: &str = "suimon.dev/picker-timeout";

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Resolves a reference to the Service `key`.
pub(super) fn reference(
    cx: &Context<'_>,
    key: &Key,
    wire: &EndpointPickerRef,
    pool: &InferencePool,
) -> Result<PickerRef, (Severity, String)> {
    let error = |why: String| (Severity::Error, why);
    let number = wire.port.as_ref().map(|port| port.number);
    let number =
        number.ok_or_else(|| error("`port` is missing; kind `Service` needs it".to_owned()))?;
    // The Service may come later; until then the failure mode applies.
    let port =
        services::port(cx.world, key, number).map_err(|(_, why)| (Severity::Warning, why))?;
    let annotations = &pool.metadata.annotations;
    Ok(PickerRef::Remote(Arc::new(RemoteRef {
        service: Arc::from(format!("{key}:{number}")),
        host: Arc::from(format!("{}.{}.svc", key.name, key.namespace)),
        port: number,
        tls: tls(annotations.get(TLS)).map_err(error)?,
        timeout: timeout(annotations.get(TIMEOUT)).map_err(error)?,
        addresses: cx.slices.endpoints(key, port),
    })))
}

/// What is usable and most likely not meant.
pub(super) fn warn(remote: &RemoteRef, at: &Place<'_>, pool: &InferencePool, report: &mut Report) {
    if remote.addresses.is_empty() {
        let why = format!("Service `{}` has no ready endpoint", remote.service);
        report.problem(Severity::Warning, at, FIELD, why);
    }
    let ours = pool.metadata.annotations.keys();
    for name in ours.filter(|name| name.starts_with(PREFIX)) {
        if ![TLS, TIMEOUT].contains(&name.as_str()) {
            let why = format!("`{name}` is not known; accepted: `{TLS}`, `{TIMEOUT}`");
            report.problem(Severity::Warning, at, "metadata.annotations", why);
        }
    }
}

fn tls(annotation: Option<&String>) -> Result<PickerTls, String> {
    match annotation.map(String::as_str) {
        None | Some("skip-verify") => Ok(PickerTls::SkipVerify),
        Some("verify") => Ok(PickerTls::Verify),
        Some("plaintext") => Ok(PickerTls::Plaintext),
        Some(other) => Err(format!(
            "annotation `{TLS}`: `{other}` is not supported; accepted: `skip-verify`, `verify`, \
             `plaintext`"
        )),
    }
}

fn timeout(annotation: Option<&String>) -> Result<Duration, String> {
    let Some(text) = annotation else {
        return Ok(DEFAULT_TIMEOUT);
    };
    let limit = parse_gateway(text).map_err(|error| format!("annotation `{TIMEOUT}`: {error}"))?;
    if limit.is_zero() {
        return Err(format!("annotation `{TIMEOUT}`: must be above zero"));
    }
    Ok(limit)
}
