//! References of rules to Services and InferencePools.

use std::sync::Arc;

use suimon_api::cluster::ServicePort;
use suimon_api::http_route::HttpBackendRef;
use suimon_api::object::INFERENCE_GROUP;

use super::Context;
use super::grants::From;
use super::pools::Pools;
use super::services::{self, not_found};
use super::tls::Refusal;
use crate::status::reason;
use crate::table::{Backend, BackendProtocol, ServiceBackend};
use crate::world::Key;

/// The HTTPRoute that refers.
#[derive(Clone, Copy)]
pub(super) struct Referrer<'r, 'w> {
    cx: &'r Context<'w>,
    namespace: &'r str,
}

// === impl Referrer ===

impl<'r, 'w> Referrer<'r, 'w> {
    pub(super) fn new(cx: &'r Context<'w>, namespace: &'r str) -> Self {
        Self { cx, namespace }
    }
}

/// Resolves a backend reference.
pub(super) fn resolve(
    from: Referrer<'_, '_>,
    reference: &HttpBackendRef,
    pools: &mut Pools<'_>,
) -> Result<Backend, Refusal> {
    let group = reference.group.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().unwrap_or("Service");
    let namespace = reference.namespace.as_deref().unwrap_or(from.namespace);
    let key = Key::new(namespace, &reference.name);
    if !matches!(
        (group, kind),
        ("", "Service") | (INFERENCE_GROUP, "InferencePool")
    ) {
        let message = format!(
            "backend of kind `{group}/{kind}` is not supported; accepted: `Service`, \
             `{INFERENCE_GROUP}/InferencePool`"
        );
        return Err((reason::INVALID_KIND, message));
    }
    let route = From {
        kind: "HTTPRoute",
        namespace: from.namespace,
    };
    // The grant is asked first, so that nobody learns what exists elsewhere.
    if !from.cx.grants.allow(route, group, kind, &key) {
        let message = format!("no ReferenceGrant in `{namespace}` allows {kind} `{key}`");
        return Err((reason::REF_NOT_PERMITTED, message));
    }
    if kind == "InferencePool" {
        return pools
            .add(&key)
            .map(Backend::Pool)
            .ok_or_else(|| not_found(format!("InferencePool `{key}` is not found")));
    }
    service(from.cx, &key, reference.port).map(|service| Backend::Service(Arc::new(service)))
}

fn service(cx: &Context<'_>, key: &Key, port: Option<u16>) -> Result<ServiceBackend, Refusal> {
    let number = port.ok_or_else(|| not_found(format!("`port` is missing for Service `{key}`")))?;
    let port = services::port(cx.world, key, number)?;
    Ok(ServiceBackend {
        name: Arc::from(format!("{key}:{number}")),
        endpoints: cx.slices.endpoints(key, port),
        protocol: protocol(key, port)?,
    })
}

fn protocol(key: &Key, port: &ServicePort) -> Result<BackendProtocol, Refusal> {
    match port.app_protocol.as_deref() {
        Some("kubernetes.io/h2c") => Ok(BackendProtocol::H2c),
        Some(tls @ ("https" | "kubernetes.io/wss")) => {
            let message = format!(
                "`appProtocol` of Service `{key}` is `{tls}`; TLS to backends is not supported"
            );
            Err((reason::UNSUPPORTED_PROTOCOL, message))
        }
        _ => Ok(BackendProtocol::Http1),
    }
}
