//! References of rules to Services and InferencePools.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use suimon_api::cluster::{EndpointSlice, ServicePort};
use suimon_api::http_route::HttpBackendRef;
use suimon_api::object::INFERENCE_GROUP;

use super::Context;
use super::grants::From;
use super::pools::Pools;
use super::tls::Refusal;
use crate::status::reason;
use crate::table::{Backend, BackendProtocol, ServiceBackend};
use crate::world::{Key, World};

/// EndpointSlices by namespace and name of their Service.
pub(super) struct Slices<'w>(BTreeMap<(&'w str, &'w str), Vec<&'w EndpointSlice>>);

/// The HTTPRoute that refers.
#[derive(Clone, Copy)]
pub(super) struct Referrer<'r, 'w> {
    cx: &'r Context<'w>,
    namespace: &'r str,
}

// === impl Slices ===

impl<'w> Slices<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (key, slice) in &world.endpoint_slices {
            if let Some(service) = slice.metadata.labels.get("kubernetes.io/service-name") {
                let place = (key.namespace.as_str(), service.as_str());
                all.entry(place).or_default().push(slice);
            }
        }
        Self(all)
    }
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
    let service = cx
        .world
        .services
        .get(key)
        .ok_or_else(|| not_found(format!("Service `{key}` is not found")))?;
    if service.spec.kind.as_deref() == Some("ExternalName") {
        // The name could lead anywhere, past every ReferenceGrant.
        let message = format!("Service `{key}` has type `ExternalName`, which is not supported");
        return Err((reason::INVALID_KIND, message));
    }
    let number = port.ok_or_else(|| not_found(format!("`port` is missing for Service `{key}`")))?;
    let port = service
        .spec
        .ports
        .iter()
        .find(|candidate| candidate.port == number)
        .ok_or_else(|| {
            let ports: Vec<String> = service
                .spec
                .ports
                .iter()
                .map(|it| it.port.to_string())
                .collect();
            let ports = ports.join(", ");
            not_found(format!(
                "Service `{key}` has no port {number}; accepted: {ports}"
            ))
        })?;
    Ok(ServiceBackend {
        name: Arc::from(format!("{key}:{number}")),
        endpoints: endpoints(cx, key, port),
        protocol: protocol(key, port)?,
    })
}

fn not_found(message: String) -> Refusal {
    (reason::BACKEND_NOT_FOUND, message)
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

/// Ready endpoints by EndpointSlices; slices find the port by its name.
fn endpoints(cx: &Context<'_>, key: &Key, port: &ServicePort) -> Vec<SocketAddr> {
    let name = port.name.as_deref().unwrap_or_default();
    let place = (key.namespace.as_str(), key.name.as_str());
    let mut all = Vec::new();
    for slice in cx.slices.0.get(&place).into_iter().flatten() {
        let number = slice
            .ports
            .iter()
            .find(|candidate| candidate.name.as_deref().unwrap_or_default() == name)
            .and_then(|candidate| candidate.port);
        let Some(number) = number else { continue };
        all.extend(
            slice
                .endpoints
                .iter()
                .filter(|endpoint| endpoint.conditions.ready != Some(false))
                .filter_map(|endpoint| endpoint.addresses.first())
                .filter_map(|address| address.parse::<IpAddr>().ok())
                .map(|address| SocketAddr::new(address, number)),
        );
    }
    all.sort_unstable();
    all.dedup();
    all
}
