//! GatewayClass and Gateway of the Gateway API.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{LabelSelector, ObjectMeta, ObjectRef, Resource};

/// A Gateway.
pub type Gateway = Resource<GatewaySpec>;

/// A GatewayClass; only what names its controller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayClass {
    /// Name of the class.
    pub metadata: ObjectMeta,
    /// What the class is.
    pub spec: GatewayClassSpec,
}

/// `spec` of a GatewayClass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayClassSpec {
    /// Which controller serves Gateways of this class, as `domain/path`.
    pub controller_name: String,
    /// Parameters of the class; none are supported.
    #[serde(default)]
    pub parameters_ref: Option<serde_json::Value>,
}

/// `spec` of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewaySpec {
    /// Name of the GatewayClass.
    pub gateway_class_name: String,
    /// Listeners, by name.
    #[serde(default)]
    pub listeners: Vec<Listener>,
    /// Addresses to bind; none means all.
    #[serde(default)]
    pub addresses: Vec<GatewayAddress>,
    /// Labels and annotations of generated objects; parameters are not supported.
    #[serde(default)]
    pub infrastructure: Option<Infrastructure>,
    /// Which ListenerSets may attach.
    #[serde(default)]
    pub allowed_listeners: Option<serde_json::Value>,
    /// TLS of the whole Gateway.
    #[serde(default)]
    pub tls: Option<GatewayTls>,
    /// Older place of the client certificate for backends.
    #[serde(default, rename = "backendTLS")]
    pub backend_tls: Option<serde_json::Value>,
    /// Whether routes without parents attach.
    #[serde(default)]
    pub default_scope: Option<String>,
}

/// One address of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayAddress {
    /// `IPAddress` (default) or `Hostname`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// The address; empty asks for any.
    #[serde(default)]
    pub value: Option<String>,
}

/// What generated objects carry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Infrastructure {
    /// Labels to copy.
    pub labels: BTreeMap<String, String>,
    /// Annotations to copy.
    pub annotations: BTreeMap<String, String>,
    /// Parameters; none are supported.
    pub parameters_ref: Option<serde_json::Value>,
}

/// TLS of the whole Gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewayTls {
    /// Client certificate for TLS backends.
    pub backend: Option<serde_json::Value>,
    /// Validation of clients' certificates.
    pub frontend: Option<serde_json::Value>,
}

/// One listener of a Gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Listener {
    /// Name, unique in the Gateway.
    pub name: String,
    /// Host to take, `*.` allowed in front; absent takes all.
    #[serde(default)]
    pub hostname: Option<String>,
    /// Port to bind.
    pub port: u16,
    /// `HTTP` or `HTTPS`; others are refused by a condition.
    pub protocol: String,
    /// Certificates of an HTTPS listener.
    #[serde(default)]
    pub tls: Option<ListenerTls>,
    /// Which routes may attach.
    #[serde(default)]
    pub allowed_routes: Option<AllowedRoutes>,
}

/// TLS of one listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ListenerTls {
    /// `Terminate` (default) or `Passthrough`.
    pub mode: Option<String>,
    /// Secrets with certificate and key.
    pub certificate_refs: Vec<ObjectRef>,
    /// Options by domain-prefixed name; none are known.
    pub options: BTreeMap<String, String>,
    /// Older place of the validation of clients' certificates.
    pub frontend_validation: Option<serde_json::Value>,
}

/// Which routes may attach to a listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct AllowedRoutes {
    /// Namespaces that routes may be in.
    pub namespaces: Option<RouteNamespaces>,
    /// Kinds of routes; empty means those of the protocol.
    pub kinds: Vec<RouteKind>,
}

/// Namespaces that routes may be in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteNamespaces {
    /// `Same` (default), `All` or `Selector`.
    pub from: Option<String>,
    /// Labels of namespaces, for `Selector`.
    pub selector: Option<LabelSelector>,
}

/// A kind of route.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteKind {
    /// Group; absent means `gateway.networking.k8s.io`.
    #[serde(default)]
    pub group: Option<String>,
    /// Kind.
    pub kind: String,
}
