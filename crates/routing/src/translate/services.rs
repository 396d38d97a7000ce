//! Services: their ports, and their ready endpoints by EndpointSlices.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use suimon_api::cluster::{EndpointSlice, ServicePort};

use super::tls::Refusal;
use crate::status::reason;
use crate::world::{Key, World};

/// EndpointSlices by namespace and name of their Service.
pub(super) struct Slices<'w>(BTreeMap<(&'w str, &'w str), Vec<&'w EndpointSlice>>);

/// The port of a Service that has `number`.
pub(super) fn port<'w>(
    world: &'w World,
    key: &Key,
    number: u16,
) -> Result<&'w ServicePort, Refusal> {
    let service = world
        .services
        .get(key)
        .ok_or_else(|| not_found(format!("Service `{key}` is not found")))?;
    if service.spec.kind.as_deref() == Some("ExternalName") {
        // The name could lead anywhere, past every ReferenceGrant.
        let message = format!("Service `{key}` has type `ExternalName`, which is not supported");
        return Err((reason::INVALID_KIND, message));
    }
    let ports = &service.spec.ports;
    let found = ports.iter().find(|candidate| candidate.port == number);
    found.ok_or_else(|| {
        let ports: Vec<String> = ports.iter().map(|port| port.port.to_string()).collect();
        not_found(format!(
            "Service `{key}` has no port {number}; accepted: {}",
            ports.join(", ")
        ))
    })
}

pub(super) fn not_found(message: String) -> Refusal {
    (reason::BACKEND_NOT_FOUND, message)
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

    /// Ready endpoints of a Service's port, which slices know by its name.
    pub(super) fn endpoints(&self, key: &Key, port: &ServicePort) -> Vec<SocketAddr> {
        let name = port.name.as_deref().unwrap_or_default();
        let place = (key.namespace.as_str(), key.name.as_str());
        let mut all = Vec::new();
        for slice in self.0.get(&place).into_iter().flatten() {
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
}
