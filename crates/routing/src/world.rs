//! Plain maps of all objects.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::{Serialize, Serializer};
use suimon_api::Object;
use suimon_api::cluster::{ConfigMap, EndpointSlice, Namespace, Pod, Secret, Service};
use suimon_api::gateway::{Gateway, GatewayClass};
use suimon_api::http_route::HttpRoute;
use suimon_api::inference_objective::InferenceObjective;
use suimon_api::inference_pool::InferencePool;
use suimon_api::meta::ObjectMeta;
use suimon_api::model_rewrite::InferenceModelRewrite;
use suimon_api::reference_grant::ReferenceGrant;

/// Namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Namespace and name; sorts and prints as `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// All objects that translation reads.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// GatewayClasses by name.
    pub gateway_classes: BTreeMap<String, GatewayClass>,
    /// Namespaces by name.
    pub namespaces: BTreeMap<String, Namespace>,
    /// Gateways.
    pub gateways: BTreeMap<Key, Gateway>,
    /// HTTPRoutes.
    pub http_routes: BTreeMap<Key, HttpRoute>,
    /// ReferenceGrants.
    pub reference_grants: BTreeMap<Key, ReferenceGrant>,
    /// InferencePools.
    pub pools: BTreeMap<Key, InferencePool>,
    /// InferenceObjectives.
    pub objectives: BTreeMap<Key, InferenceObjective>,
    /// InferenceModelRewrites.
    pub rewrites: BTreeMap<Key, InferenceModelRewrite>,
    /// Services.
    pub services: BTreeMap<Key, Service>,
    /// EndpointSlices.
    pub endpoint_slices: BTreeMap<Key, EndpointSlice>,
    /// Pods.
    pub pods: BTreeMap<Key, Pod>,
    /// Secrets.
    pub secrets: BTreeMap<Key, Secret>,
    /// ConfigMaps.
    pub config_maps: BTreeMap<Key, ConfigMap>,
    /// Kinds and names of objects that are not used.
    pub unused: Vec<String>,
}

/// An object that is already there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} `{name}` is defined twice; names are unique within a kind and namespace")]
pub struct DuplicateObject {
    /// Kind.
    pub kind: String,
    /// `namespace/name`.
    pub name: String,
}

// === impl World ===

impl World {
    /// Adds an object.
    ///
    /// # Errors
    /// When an object of that kind and name is already there; the first one stays.
    pub fn insert(&mut self, object: Object) -> Result<(), DuplicateObject> {
        match object {
            Object::GatewayClass(class) => {
                let name = class.metadata.name.clone();
                add("GatewayClass", &mut self.gateway_classes, name, *class)
            }
            Object::Namespace(namespace) => {
                let name = namespace.metadata.name.clone();
                add("Namespace", &mut self.namespaces, name, *namespace)
            }
            Object::Gateway(o) => add("Gateway", &mut self.gateways, Key::of(&o.metadata), *o),
            Object::HttpRoute(o) => {
                add("HTTPRoute", &mut self.http_routes, Key::of(&o.metadata), *o)
            }
            Object::ReferenceGrant(o) => {
                let key = Key::of(&o.metadata);
                add("ReferenceGrant", &mut self.reference_grants, key, *o)
            }
            Object::InferencePool(o) => {
                add("InferencePool", &mut self.pools, Key::of(&o.metadata), *o)
            }
            Object::InferenceObjective(o) => {
                let key = Key::of(&o.metadata);
                add("InferenceObjective", &mut self.objectives, key, *o)
            }
            Object::InferenceModelRewrite(o) => {
                let key = Key::of(&o.metadata);
                add("InferenceModelRewrite", &mut self.rewrites, key, *o)
            }
            Object::Service(o) => add("Service", &mut self.services, Key::of(&o.metadata), *o),
            Object::EndpointSlice(o) => {
                let key = Key::of(&o.metadata);
                add("EndpointSlice", &mut self.endpoint_slices, key, *o)
            }
            Object::Pod(o) => add("Pod", &mut self.pods, Key::of(&o.metadata), *o),
            Object::Secret(o) => add("Secret", &mut self.secrets, Key::of(&o.metadata), *o),
            Object::ConfigMap(o) => {
                add("ConfigMap", &mut self.config_maps, Key::of(&o.metadata), *o)
            }
            Object::EndpointPickerConfig(_) => {
                self.unused.push("EndpointPickerConfig".to_owned());
                Ok(())
            }
            Object::Unknown { kind, name, .. } => {
                self.unused.push(format!("{kind} `{name}`"));
                Ok(())
            }
        }
    }
}

fn add<K: Ord + fmt::Display, V>(
    kind: &str,
    map: &mut BTreeMap<K, V>,
    key: K,
    value: V,
) -> Result<(), DuplicateObject> {
    match map.entry(key) {
        Entry::Vacant(entry) => {
            entry.insert(value);
            Ok(())
        }
        Entry::Occupied(entry) => Err(DuplicateObject {
            kind: kind.to_owned(),
            name: entry.key().to_string(),
        }),
    }
}

// === impl Key ===

impl Key {
    /// A key from its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Namespace and name of an object.
    pub fn of(meta: &ObjectMeta) -> Self {
        let namespace = meta.namespace.as_deref().filter(|name| !name.is_empty());
        Self::new(namespace.unwrap_or(DEFAULT_NAMESPACE), &meta.name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
