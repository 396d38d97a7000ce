//! Conditions and their reasons, as data: nobody writes them from here.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use suimon_api::http_route::ParentRef;

use crate::world::Key;

/// Conditions of all objects of ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Statuses {
    /// GatewayClasses by name.
    pub gateway_classes: BTreeMap<String, Vec<Condition>>,
    /// Gateways.
    pub gateways: BTreeMap<Key, GatewayStatus>,
    /// Our entries of `status.parents` of HTTPRoutes, in the order of `spec.parentRefs`.
    pub routes: BTreeMap<Key, Vec<ParentStatus>>,
    /// Our entries of `status.parents` of InferencePools, one for each Gateway.
    pub pools: BTreeMap<Key, Vec<ParentStatus>>,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// `type`, such as `Accepted`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// `True` or `False`.
    pub status: bool,
    /// One of [`reason`].
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// `status` of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GatewayStatus {
    /// Addresses that listeners bind; unspecified means all.
    pub addresses: Vec<IpAddr>,
    /// `Accepted`, `Programmed`, `ResolvedRefs`.
    pub conditions: Vec<Condition>,
    /// Listeners in the order of `spec`.
    pub listeners: Vec<ListenerStatus>,
}

/// `status` of a listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ListenerStatus {
    /// Name of the listener.
    pub name: String,
    /// Kinds of routes that may attach, all of group `gateway.networking.k8s.io`.
    pub supported_kinds: Vec<&'static str>,
    /// Accepted routes.
    pub attached_routes: usize,
    /// `Accepted`, `Programmed`, `ResolvedRefs`; `Conflicted` and `OverlappingTLSConfig` when true.
    pub conditions: Vec<Condition>,
}

/// One entry of `status.parents`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParentStatus {
    /// The parent as the object's `spec` has it; for a pool the Gateway with its namespace.
    pub parent: ParentRef,
    /// `Accepted` and `ResolvedRefs`; `PartiallyInvalid` when true.
    pub conditions: Vec<Condition>,
}

/// Types of conditions of the Gateway API.
pub mod kind {
    /// The object is valid and used.
    pub const ACCEPTED: &str = "Accepted";
    /// The data plane serves it.
    pub const PROGRAMMED: &str = "Programmed";
    /// All references lead somewhere.
    pub const RESOLVED_REFS: &str = "ResolvedRefs";
    /// The listener is not distinct from another.
    pub const CONFLICTED: &str = "Conflicted";
    /// TLS hostnames of listeners on one port overlap.
    pub const OVERLAPPING_TLS: &str = "OverlappingTLSConfig";
    /// Some rules do not work.
    pub const PARTIALLY_INVALID: &str = "PartiallyInvalid";
}

/// Reasons of conditions of the Gateway API and the inference extension.
pub mod reason {
    /// `Accepted` is true.
    pub const ACCEPTED: &str = "Accepted";
    /// `Programmed` is true.
    pub const PROGRAMMED: &str = "Programmed";
    /// `ResolvedRefs` is true.
    pub const RESOLVED_REFS: &str = "ResolvedRefs";
    /// Some or all listeners of a Gateway are invalid.
    pub const LISTENERS_NOT_VALID: &str = "ListenersNotValid";
    /// References of some listener do not resolve.
    pub const LISTENERS_NOT_RESOLVED: &str = "ListenersNotResolved";
    /// Parameters are not supported.
    pub const INVALID_PARAMETERS: &str = "InvalidParameters";
    /// The type of an address is not supported.
    pub const UNSUPPORTED_ADDRESS: &str = "UnsupportedAddress";
    /// An address cannot be bound.
    pub const ADDRESS_NOT_USABLE: &str = "AddressNotUsable";
    /// Not valid.
    pub const INVALID: &str = "Invalid";
    /// Another listener has the port.
    pub const PORT_UNAVAILABLE: &str = "PortUnavailable";
    /// The protocol is not supported.
    pub const UNSUPPORTED_PROTOCOL: &str = "UnsupportedProtocol";
    /// A value is not supported.
    pub const UNSUPPORTED_VALUE: &str = "UnsupportedValue";
    /// Two listeners have the same port and hostname.
    pub const HOSTNAME_CONFLICT: &str = "HostnameConflict";
    /// Two listeners have the same port and different protocols.
    pub const PROTOCOL_CONFLICT: &str = "ProtocolConflict";
    /// Hostnames of TLS listeners overlap.
    pub const OVERLAPPING_HOSTNAMES: &str = "OverlappingHostnames";
    /// A certificate is missing or malformed.
    pub const INVALID_CERTIFICATE_REF: &str = "InvalidCertificateRef";
    /// A kind of route is not supported by the listener.
    pub const INVALID_ROUTE_KINDS: &str = "InvalidRouteKinds";
    /// No ReferenceGrant allows the reference.
    pub const REF_NOT_PERMITTED: &str = "RefNotPermitted";
    /// No listener allows the route's kind or namespace.
    pub const NOT_ALLOWED_BY_LISTENERS: &str = "NotAllowedByListeners";
    /// No hostname of the route is one of a listener.
    pub const NO_MATCHING_LISTENER_HOSTNAME: &str = "NoMatchingListenerHostname";
    /// No listener has the name or port.
    pub const NO_MATCHING_PARENT: &str = "NoMatchingParent";
    /// Filters of a rule exclude each other.
    pub const INCOMPATIBLE_FILTERS: &str = "IncompatibleFilters";
    /// The kind of a backend is not supported.
    pub const INVALID_KIND: &str = "InvalidKind";
    /// The backend does not exist.
    pub const BACKEND_NOT_FOUND: &str = "BackendNotFound";
    /// The pool cannot be served as it is.
    pub const NOT_SUPPORTED_BY_PARENT: &str = "NotSupportedByParent";
    /// The endpoint picker of a pool cannot be used.
    pub const INVALID_EXTENSION_REF: &str = "InvalidExtensionRef";
}

// === impl Condition ===

impl Condition {
    /// A condition that holds.
    pub(crate) fn yes(
        kind: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            status: true,
            reason,
            message: message.into(),
        }
    }

    /// A condition that does not hold.
    pub(crate) fn no(kind: &'static str, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: false,
            reason,
            message: message.into(),
        }
    }
}
