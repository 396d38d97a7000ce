//! The plugin instances of one engine while it is built.

use std::sync::Arc;

use suimon_api::picker_config::PluginSpec;

use super::ConfigError;
use crate::columns::{Attribute, Key};
use crate::effective::EffectivePlugin;
use crate::graph::Graph;
use crate::plugin::{BuildContext, Descriptor, Resources, Roles};
use crate::registry::Registry;
use crate::role::{Discovery, Extractor, Parser, PreRequest, Producer, SaturationDetector, Source};

/// The plugin instances of one engine, in the order in which they were made.
pub(super) struct Instances<'a> {
    registry: &'a Registry,
    resources: &'a Resources,
    graph: Graph,
    made: Vec<Instance>,
}

struct Instance {
    name: String,
    kind: &'static str,
    parameters: serde_json::Value,
    because: Option<String>,
    roles: Roles,
}

// === impl Instances ===

impl<'a> Instances<'a> {
    pub(super) fn new(registry: &'a Registry, resources: &'a Resources) -> Self {
        Self {
            registry,
            resources,
            graph: Graph::default(),
            made: Vec::new(),
        }
    }

    /// Makes the instances that the configuration lists.
    pub(super) fn configured(&mut self, specs: &[PluginSpec]) -> Result<(), ConfigError> {
        for (index, spec) in specs.iter().enumerate() {
            if spec.kind.is_empty() {
                let known = self.known();
                return Err(ConfigError::TypeMissing { index, known });
            }
            let name = match spec.name.as_deref() {
                None | Some("") => spec.kind.as_str(),
                Some(name) => name,
            };
            if self.has(name) {
                return Err(ConfigError::DuplicateName {
                    index,
                    name: name.to_owned(),
                });
            }
            let place = format!("plugins[{index}]");
            let descriptor = self.descriptor(&place, &spec.kind)?;
            self.make(name, descriptor, spec.parameters.as_ref(), None)?;
        }
        Ok(())
    }

    /// Makes an instance that nobody wrote, named after its type; nothing if the name is taken.
    pub(super) fn imply(&mut self, kind: &str, because: &str) -> Result<(), ConfigError> {
        self.imply_at("implied", kind, because)
    }

    /// The same for a type that the field `place` names.
    pub(super) fn imply_at(
        &mut self,
        place: &str,
        kind: &str,
        because: &str,
    ) -> Result<(), ConfigError> {
        if self.has(kind) {
            return Ok(());
        }
        let descriptor = self.descriptor(place, kind)?;
        self.make(kind, descriptor, None, Some(because.to_owned()))
    }

    fn make(
        &mut self,
        name: &str,
        descriptor: Descriptor,
        parameters: Option<&serde_json::Value>,
        because: Option<String>,
    ) -> Result<(), ConfigError> {
        let mut cx = BuildContext {
            name,
            graph: &mut self.graph,
            resources: self.resources,
        };
        let roles =
            descriptor
                .build(parameters, &mut cx)
                .map_err(|source| ConfigError::Plugin {
                    name: name.to_owned(),
                    kind: descriptor.name,
                    source,
                })?;
        let mut full = descriptor.default_params();
        if let (Some(full), Some(given)) = (
            full.as_object_mut(),
            parameters.and_then(serde_json::Value::as_object),
        ) {
            full.extend(
                given
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        self.made.push(Instance {
            name: name.to_owned(),
            kind: descriptor.name,
            parameters: full,
            because,
            roles,
        });
        Ok(())
    }

    fn descriptor(&self, place: &str, kind: &str) -> Result<Descriptor, ConfigError> {
        self.registry
            .get(kind)
            .copied()
            .ok_or_else(|| ConfigError::UnknownType {
                place: place.to_owned(),
                name: kind.to_owned(),
                hint: match suimon_api::nearest(kind, self.registry.iter().map(|d| d.name)) {
                    Some(near) => format!("; did you mean `{near}`?"),
                    None => format!("; known types: {}", self.known()),
                },
            })
    }

    fn known(&self) -> String {
        let names: Vec<_> = self
            .registry
            .iter()
            .map(|d| format!("`{}`", d.name))
            .collect();
        names.join(", ")
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.made.iter().any(|instance| instance.name == name)
    }

    /// Whether there is an instance of this type, whatever its name.
    pub(super) fn has_type(&self, name: &str, kind: &str) -> bool {
        self.made
            .iter()
            .any(|instance| instance.name == name && instance.kind == kind)
    }

    /// Names of the instances that fill a role, in the order of the file.
    pub(super) fn names_with(&self, role: impl Fn(&Roles) -> bool) -> Vec<String> {
        let with = self.made.iter().filter(|instance| role(&instance.roles));
        with.map(|instance| instance.name.clone()).collect()
    }

    pub(super) fn roles(&self, place: &str, name: &str) -> Result<&Roles, ConfigError> {
        let found = self.made.iter().find(|instance| instance.name == name);
        found
            .map(|instance| &instance.roles)
            .ok_or_else(|| self.reference(place, name, None))
    }

    fn reference(&self, place: &str, name: &str, role: Option<&str>) -> ConfigError {
        let why = match role {
            Some(role) if role.starts_with('e') => format!("is not an {role}"),
            Some(role) => format!("is not a {role}"),
            None => {
                let names = self.made.iter().map(|instance| instance.name.as_str());
                match suimon_api::nearest(name, names) {
                    Some(near) => format!("is not defined; did you mean `{near}`?"),
                    None => "is not defined; add it to `plugins`".to_owned(),
                }
            }
        };
        ConfigError::Reference {
            place: place.to_owned(),
            name: name.to_owned(),
            why,
        }
    }

    fn role<T: Clone>(
        &self,
        place: &str,
        name: &str,
        role: &str,
        get: impl Fn(&Roles) -> &Option<T>,
    ) -> Result<T, ConfigError> {
        let roles = self.roles(place, name)?;
        get(roles)
            .clone()
            .ok_or_else(|| self.reference(place, name, Some(role)))
    }

    pub(super) fn detector(&self, name: &str) -> Result<Arc<dyn SaturationDetector>, ConfigError> {
        self.role(
            "flowControl.saturationDetector",
            name,
            "saturation detector",
            |r| &r.detector,
        )
    }

    pub(super) fn parser(&self, place: &str, name: &str) -> Result<Arc<dyn Parser>, ConfigError> {
        self.role(place, name, "parser", |r| &r.parser)
    }

    pub(super) fn source(&self, place: &str, name: &str) -> Result<Arc<dyn Source>, ConfigError> {
        self.role(place, name, "data source", |r| &r.source)
    }

    pub(super) fn extractor(
        &self,
        place: &str,
        name: &str,
    ) -> Result<Arc<dyn Extractor>, ConfigError> {
        self.role(place, name, "extractor", |r| &r.extractor)
    }

    pub(super) fn discovery(
        &self,
        place: &str,
        name: &str,
    ) -> Result<Arc<dyn Discovery>, ConfigError> {
        self.role(place, name, "discovery plugin", |r| &r.discovery)
    }

    /// Required values that nobody produces.
    pub(super) fn missing(&self) -> Vec<crate::graph::Missing> {
        self.graph.missing()
    }

    /// Producers in the order in which they have to run.
    pub(super) fn producers(&self) -> Result<Vec<Arc<dyn Producer>>, ConfigError> {
        let all: Vec<(&str, &Arc<dyn Producer>)> = self
            .made
            .iter()
            .filter_map(|i| Some((i.name.as_str(), i.roles.producer.as_ref()?)))
            .collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        let order = self
            .graph
            .order(&names)
            .map_err(|names| ConfigError::Cycle { names })?;
        Ok(order
            .into_iter()
            .filter_map(|i| all.get(i).map(|(_, p)| Arc::clone(p)))
            .collect())
    }

    pub(super) fn pre_request(&self) -> Vec<Arc<dyn PreRequest>> {
        self.made
            .iter()
            .filter_map(|instance| instance.roles.pre_request.clone())
            .collect()
    }

    /// Key of a column of the default producer, if some instance writes it.
    pub(super) fn optional_key<A: Attribute>(&self) -> Option<Key<A>> {
        self.graph.produced::<A>(A::DEFAULT_PRODUCER)
    }

    pub(super) fn effective(&self) -> Vec<EffectivePlugin> {
        self.made
            .iter()
            .map(|instance| EffectivePlugin {
                name: instance.name.clone(),
                kind: instance.kind,
                parameters: instance.parameters.clone(),
                because: instance.because.clone(),
            })
            .collect()
    }

    pub(super) fn into_graph(self) -> Graph {
        self.graph
    }
}
