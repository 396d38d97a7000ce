//! Kinds of the cluster itself. Fields that nobody here needs are passed over.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::ObjectMeta;

/// A Namespace; only its labels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Namespace {
    /// Name and labels.
    pub metadata: ObjectMeta,
}

/// A Service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Service {
    /// Name and namespace.
    pub metadata: ObjectMeta,
    /// Ports and type.
    #[serde(default)]
    pub spec: ServiceSpec,
}

/// `spec` of a Service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceSpec {
    /// `ClusterIP` (default), `ExternalName`, …
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Ports.
    pub ports: Vec<ServicePort>,
}

/// One port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Name; ports of EndpointSlices have the same.
    #[serde(default)]
    pub name: Option<String>,
    /// Number that routes refer to.
    pub port: u16,
    /// What the endpoints speak.
    #[serde(default)]
    pub app_protocol: Option<String>,
}

/// An EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointSlice {
    /// Name, namespace and the label `kubernetes.io/service-name`.
    pub metadata: ObjectMeta,
    /// `IPv4`, `IPv6` or `FQDN`.
    #[serde(default)]
    pub address_type: Option<String>,
    /// Endpoints.
    #[serde(default)]
    pub endpoints: Vec<SliceEndpoint>,
    /// Ports of all endpoints.
    #[serde(default)]
    pub ports: Vec<SlicePort>,
}

/// One endpoint of an EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SliceEndpoint {
    /// Addresses of one Pod; the first counts.
    pub addresses: Vec<String>,
    /// Whether it can be used.
    pub conditions: EndpointConditions,
}

/// Whether an endpoint can be used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct EndpointConditions {
    /// Absent means ready.
    pub ready: Option<bool>,
}

/// One port of an EndpointSlice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SlicePort {
    /// Name of the Service's port.
    pub name: Option<String>,
    /// Number on the endpoint.
    pub port: Option<u16>,
}

/// A Pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pod {
    /// Name, namespace, labels and annotations.
    pub metadata: ObjectMeta,
    /// Address and conditions.
    #[serde(default)]
    pub status: PodStatus,
}

/// `status` of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed`.
    pub phase: Option<String>,
    /// Address.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<String>,
    /// Conditions; `Ready` counts.
    pub conditions: Vec<PodCondition>,
}

/// One condition of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodCondition {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// A Secret.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Secret {
    /// Name and namespace.
    pub metadata: ObjectMeta,
    /// `kubernetes.io/tls` for certificates.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Values in base64.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// Values as they are; they win over `data`.
    #[serde(default)]
    pub string_data: BTreeMap<String, String>,
}

/// A ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMap {
    /// Name and namespace.
    pub metadata: ObjectMeta,
    /// Texts by key.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
}

// === impl Secret ===

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}
