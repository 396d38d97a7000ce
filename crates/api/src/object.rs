//! The kinds that are read, told apart by group and kind.

use crate::cluster::{ConfigMap, EndpointSlice, Namespace, Pod, Secret, Service};
use crate::gateway::{Gateway, GatewayClass};
use crate::http_route::HttpRoute;
use crate::inference_objective::InferenceObjective;
use crate::inference_pool::InferencePool;
use crate::meta::ObjectMeta;
use crate::model_rewrite::InferenceModelRewrite;
use crate::picker_config::EndpointPickerConfig;
use crate::reference_grant::ReferenceGrant;

/// Group of the Gateway API.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";
/// Group of InferencePool.
pub const INFERENCE_GROUP: &str = "inference.networking.k8s.io";
/// Older group of InferenceObjective, InferenceModelRewrite and EndpointPickerConfig.
pub const INFERENCE_X_GROUP: &str = "inference.networking.x-k8s.io";
/// Group of InferenceObjective, InferenceModelRewrite and EndpointPickerConfig.
pub const LLM_D_GROUP: &str = "llm-d.ai";

/// Kinds that are read.
pub const KINDS: [&str; 14] = [
    "GatewayClass",
    "Gateway",
    "HTTPRoute",
    "ReferenceGrant",
    "InferencePool",
    "InferenceObjective",
    "InferenceModelRewrite",
    "Namespace",
    "Service",
    "EndpointSlice",
    "Pod",
    "Secret",
    "ConfigMap",
    "EndpointPickerConfig",
];

/// An object of a known kind, or the name of one that is not used.
#[derive(Debug, Clone, PartialEq)]
pub enum Object {
    /// `gateway.networking.k8s.io` GatewayClass.
    GatewayClass(Box<GatewayClass>),
    /// `gateway.networking.k8s.io` Gateway.
    Gateway(Box<Gateway>),
    /// `gateway.networking.k8s.io` HTTPRoute.
    HttpRoute(Box<HttpRoute>),
    /// `gateway.networking.k8s.io` ReferenceGrant.
    ReferenceGrant(Box<ReferenceGrant>),
    /// `inference.networking.k8s.io` InferencePool.
    InferencePool(Box<InferencePool>),
    /// InferenceObjective of either group.
    InferenceObjective(Box<InferenceObjective>),
    /// InferenceModelRewrite of either group.
    InferenceModelRewrite(Box<InferenceModelRewrite>),
    /// Namespace.
    Namespace(Box<Namespace>),
    /// Service.
    Service(Box<Service>),
    /// `discovery.k8s.io` EndpointSlice.
    EndpointSlice(Box<EndpointSlice>),
    /// Pod.
    Pod(Box<Pod>),
    /// Secret.
    Secret(Box<Secret>),
    /// ConfigMap.
    ConfigMap(Box<ConfigMap>),
    /// EndpointPickerConfig of either group, as a document of its own.
    EndpointPickerConfig(Box<EndpointPickerConfig>),
    /// A kind that is not used.
    Unknown {
        /// Group and version.
        api_version: String,
        /// Kind.
        kind: String,
        /// `namespace/name` or name.
        name: String,
    },
}

// === impl Object ===

impl Object {
    /// Kind of the object.
    pub fn kind(&self) -> &str {
        match self {
            Self::GatewayClass(_) => "GatewayClass",
            Self::Gateway(_) => "Gateway",
            Self::HttpRoute(_) => "HTTPRoute",
            Self::ReferenceGrant(_) => "ReferenceGrant",
            Self::InferencePool(_) => "InferencePool",
            Self::InferenceObjective(_) => "InferenceObjective",
            Self::InferenceModelRewrite(_) => "InferenceModelRewrite",
            Self::Namespace(_) => "Namespace",
            Self::Service(_) => "Service",
            Self::EndpointSlice(_) => "EndpointSlice",
            Self::Pod(_) => "Pod",
            Self::Secret(_) => "Secret",
            Self::ConfigMap(_) => "ConfigMap",
            Self::EndpointPickerConfig(_) => "EndpointPickerConfig",
            Self::Unknown { kind, .. } => kind,
        }
    }

    /// Metadata; kinds that are not used and EndpointPickerConfig have none.
    pub fn metadata(&self) -> Option<&ObjectMeta> {
        match self {
            Self::GatewayClass(object) => Some(&object.metadata),
            Self::Gateway(object) => Some(&object.metadata),
            Self::HttpRoute(object) => Some(&object.metadata),
            Self::ReferenceGrant(object) => Some(&object.metadata),
            Self::InferencePool(object) => Some(&object.metadata),
            Self::InferenceObjective(object) => Some(&object.metadata),
            Self::InferenceModelRewrite(object) => Some(&object.metadata),
            Self::Namespace(object) => Some(&object.metadata),
            Self::Service(object) => Some(&object.metadata),
            Self::EndpointSlice(object) => Some(&object.metadata),
            Self::Pod(object) => Some(&object.metadata),
            Self::Secret(object) => Some(&object.metadata),
            Self::ConfigMap(object) => Some(&object.metadata),
            Self::EndpointPickerConfig(_) | Self::Unknown { .. } => None,
        }
    }
}
