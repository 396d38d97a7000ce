//! The plugin contract: one declaration a plugin, from which schema, docs, defaults and checks follow.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::columns::{Attribute, Key, StateKey};
use crate::graph::Graph;
use crate::role;

/// A plugin type. The constants are the only place where its name, stability and summary stand.
pub trait Plugin: Send + Sync + Sized + 'static {
    /// Name in configurations: kebab-case, ends with the role.
    const TYPE: &'static str;
    /// What users may rely on.
    const STABILITY: Stability;
    /// One line for tables.
    const SUMMARY: &'static str;
    /// Parameters; unknown fields are an error, the default is what an absent `parameters` means.
    type Params: DeserializeOwned + Serialize + JsonSchema + Default;

    /// Makes an instance. Calls on `cx` declare what it reads and writes.
    ///
    /// # Errors
    /// When parameters contradict each other or are out of range.
    fn build(params: Self::Params, cx: &mut BuildContext<'_>) -> Result<Self, BuildError>;

    /// Says what the instance can be.
    fn roles(self: Arc<Self>, roles: &mut Roles);
}

/// What users may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Stability {
    /// May change or go; needs `--allow-experimental-plugins` in the picker.
    Alpha,
    /// On by default; goes only after two minor versions.
    Beta,
    /// Stays.
    Stable,
}

/// Roles that an instance fills.
#[derive(Default)]
pub struct Roles {
    pub(crate) filter: Option<Arc<dyn role::Filter>>,
    pub(crate) scorer: Option<Arc<dyn role::Scorer>>,
    pub(crate) picker: Option<Arc<dyn role::Picker>>,
    pub(crate) profile_handler: Option<Arc<dyn role::ProfileHandler>>,
    pub(crate) producer: Option<Arc<dyn role::Producer>>,
    pub(crate) pre_request: Option<Arc<dyn role::PreRequest>>,
    pub(crate) detector: Option<Arc<dyn role::SaturationDetector>>,
    pub(crate) parser: Option<Arc<dyn role::Parser>>,
    pub(crate) source: Option<Arc<dyn role::Source>>,
    pub(crate) extractor: Option<Arc<dyn role::Extractor>>,
    pub(crate) discovery: Option<Arc<dyn role::Discovery>>,
    pub(crate) policy: bool,
}

/// What a plugin can ask for while it is built.
pub struct BuildContext<'a> {
    pub(crate) name: &'a str,
    pub(crate) graph: &'a mut Graph,
    pub(crate) resources: &'a Resources,
}

/// Long-lived things that plugins use and do not own, by type.
#[derive(Default, Clone)]
pub struct Resources {
    by_type: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

/// Why an instance cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The parameters do not fit the type's schema.
    #[error("parameters: {0}")]
    Params(String),
    /// A parameter has a value that cannot be.
    #[error("parameter `{field}`: {why}")]
    Value {
        /// Name of the parameter.
        field: &'static str,
        /// What is wrong and what is accepted.
        why: String,
    },
}

/// Parameters of a plugin that has none.
#[derive(Debug, Clone, Copy, Default, Serialize, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// A plugin type as data: an entry of a catalogue.
#[derive(Clone, Copy)]
pub struct Descriptor {
    /// Name in configurations.
    pub name: &'static str,
    /// What users may rely on.
    pub stability: Stability,
    /// One line for tables.
    pub summary: &'static str,
    build: fn(Option<&serde_json::Value>, &mut BuildContext<'_>) -> Result<Roles, BuildError>,
    schema: fn() -> schemars::Schema,
    default_params: fn() -> serde_json::Value,
}

// === impl Roles ===

macro_rules! role_setters {
    ($($(#[$doc:meta])* $name:ident: $trait:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, plugin: Arc<impl role::$trait + 'static>) -> &mut Self {
            self.$name = Some(plugin);
            self
        }
    )*};
}

impl Roles {
    role_setters! {
        /// The instance can filter.
        filter: Filter;
        /// The instance can score.
        scorer: Scorer;
        /// The instance can pick.
        picker: Picker;
        /// The instance can handle profiles.
        profile_handler: ProfileHandler;
        /// The instance produces what it declared.
        producer: Producer;
        /// The instance acts before requests are sent.
        pre_request: PreRequest;
        /// The instance can detect saturation.
        detector: SaturationDetector;
        /// The instance claims paths.
        parser: Parser;
        /// The instance polls endpoints.
        source: Source;
        /// The instance reads what sources fetch.
        extractor: Extractor;
        /// The instance finds endpoints.
        discovery: Discovery;
    }

    /// The instance is a policy that only names a behaviour of the engine.
    pub fn policy(&mut self) -> &mut Self {
        self.policy = true;
        self
    }

    /// Names of the roles, for docs.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        [
            (self.filter.is_some(), "filter"),
            (self.scorer.is_some(), "scorer"),
            (self.picker.is_some(), "picker"),
            (self.profile_handler.is_some(), "profile handler"),
            (self.producer.is_some(), "producer"),
            (self.pre_request.is_some(), "pre-request"),
            (self.detector.is_some(), "saturation detector"),
            (self.parser.is_some(), "parser"),
            (self.source.is_some(), "data source"),
            (self.extractor.is_some(), "extractor"),
            (self.discovery.is_some(), "discovery"),
            (self.policy, "policy"),
        ]
        .into_iter()
        .filter_map(|(is, name)| is.then_some(name))
        .collect()
    }

    /// The scorer, for tests of its laws.
    #[must_use]
    pub fn as_scorer(&self) -> Option<&Arc<dyn role::Scorer>> {
        self.scorer.as_ref()
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

// === impl BuildContext ===

impl BuildContext<'_> {
    /// Name of the instance.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name
    }

    /// The instance writes `A`, under its own name.
    pub fn produce<A: Attribute>(&mut self) -> Key<A> {
        self.graph.produce::<A>(self.name)
    }

    /// The instance reads `A` as written by the instance `producer`, or by the default producer when
    /// that is empty. A default producer that is missing is created.
    pub fn require<A: Attribute>(&mut self, producer: &str) -> Key<A> {
        self.graph.consume::<A>(self.name, producer, true)
    }

    /// As [`BuildContext::require`], but without a producer the column just keeps its defaults.
    pub fn optional<A: Attribute>(&mut self, producer: &str) -> Key<A> {
        self.graph.consume::<A>(self.name, producer, false)
    }

    /// State of the instance's own that lives from producing to pre-request.
    pub fn state<T: Default + Send + 'static>(&mut self) -> StateKey<T> {
        self.graph.state::<T>()
    }

    /// A long-lived thing that the process provides; `None` where there is none, as in a mere check.
    #[must_use]
    pub fn resource<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.resources.get()
    }
}

impl fmt::Debug for BuildContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildContext({})", self.name)
    }
}

// === impl Resources ===

impl Resources {
    /// Adds a thing; one of each type.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, thing: Arc<T>) -> Self {
        self.by_type.insert(TypeId::of::<T>(), thing);
        self
    }

    /// The thing of this type.
    #[must_use]
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        Arc::clone(self.by_type.get(&TypeId::of::<T>())?)
            .downcast()
            .ok()
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resources({})", self.by_type.len())
    }
}

// === impl Descriptor ===

impl Descriptor {
    /// The entry of one plugin type.
    #[must_use]
    pub const fn of<P: Plugin>() -> Self {
        Self {
            name: P::TYPE,
            stability: P::STABILITY,
            summary: P::SUMMARY,
            build: build::<P>,
            schema: schema::<P>,
            default_params: || {
                serde_json::to_value(P::Params::default()).unwrap_or(serde_json::Value::Null)
            },
        }
    }

    /// Makes an instance; no parameters means the defaults.
    ///
    /// # Errors
    /// When the parameters are wrong.
    pub fn build(
        &self,
        params: Option<&serde_json::Value>,
        cx: &mut BuildContext<'_>,
    ) -> Result<Roles, BuildError> {
        (self.build)(params, cx)
    }

    /// JSON Schema of the parameters; it refers to nothing outside itself.
    #[must_use]
    pub fn schema(&self) -> schemars::Schema {
        (self.schema)()
    }

    /// The defaults of the parameters.
    #[must_use]
    pub fn default_params(&self) -> serde_json::Value {
        (self.default_params)()
    }
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descriptor({}, {:?})", self.name, self.stability)
    }
}

fn build<P: Plugin>(
    params: Option<&serde_json::Value>,
    cx: &mut BuildContext<'_>,
) -> Result<Roles, BuildError> {
    let params = match params {
        None | Some(serde_json::Value::Null) => P::Params::default(),
        Some(value) => suimon_api::from_value(value.clone())
            .map_err(|error| BuildError::Params(error.to_string()))?,
    };
    let mut roles = Roles::default();
    Arc::new(P::build(params, cx)?).roles(&mut roles);
    Ok(roles)
}

/// Types that a parameter is made of stand where they are used, so that the schema can be part of a
/// larger one.
fn schema<P: Plugin>() -> schemars::Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings
        .into_generator()
        .into_root_schema_for::<P::Params>()
}

/// Makes an instance outside any engine, for tests of a plugin alone.
///
/// # Errors
/// When the parameters are wrong.
pub fn build_alone<P: Plugin>(params: P::Params) -> Result<P, BuildError> {
    let (mut graph, resources) = (Graph::default(), Resources::default());
    let mut cx = BuildContext {
        name: P::TYPE,
        graph: &mut graph,
        resources: &resources,
    };
    P::build(params, &mut cx)
}
