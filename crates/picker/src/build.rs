//! Builds an [`Engine`] from an EndpointPickerConfig: instances in the order of the file, then what
//! the file leaves out, each with the reason why it is there.
//!
//! The order is fixed throughout, so that the same file always gives the same engine.

mod implied;
mod instances;

use std::sync::Arc;

use suimon_api::picker_config::EndpointPickerConfig;

use crate::attribute::UncachedTokens;
use crate::effective::{Effective, EffectiveEntry, EffectiveProfile, EffectiveRef};
use crate::engine::{Engine, Feed, Parsers};
use crate::plugin::{BuildError, Resources};
use crate::registry::Registry;
use crate::schedule::{Profile, ProfileSet, Weighted};
use instances::Instances;

/// Why a configuration does not make an engine. Messages name the place and what is accepted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// An entry of `plugins` has no type.
    #[error("plugins[{index}]: `type` is missing; known types: {known}")]
    TypeMissing {
        /// Place in the list.
        index: usize,
        /// Known types.
        known: String,
    },
    /// Two instances have the same name.
    #[error("plugins[{index}]: duplicate plugin name `{name}`; give one of them another `name`")]
    DuplicateName {
        /// Place in the list.
        index: usize,
        /// The name.
        name: String,
    },
    /// A type is not in the registry.
    #[error("{place}: plugin type `{name}` is not registered{hint}")]
    UnknownType {
        /// Where the type stands.
        place: String,
        /// The type.
        name: String,
        /// The nearest known type, or all of them.
        hint: String,
    },
    /// An instance cannot be made.
    #[error("plugin `{name}` (type `{kind}`): {source}")]
    Plugin {
        /// Name of the instance.
        name: String,
        /// Its type.
        kind: &'static str,
        /// Why.
        source: BuildError,
    },
    /// A profile is wrong.
    #[error("schedulingProfiles[{profile}]: {why}")]
    Profile {
        /// Name or place of the profile.
        profile: String,
        /// What is wrong and what is accepted.
        why: String,
    },
    /// A reference leads nowhere, or to an instance of another kind.
    #[error("{place}: plugin `{name}` {why}")]
    Reference {
        /// Field with the reference.
        place: String,
        /// Name that is referred to.
        name: String,
        /// What is wrong and what is accepted.
        why: String,
    },
    /// A required value has no producer.
    #[error(
        "plugin `{consumer}` needs `{attribute}` from plugin `{producer}`, which is not configured"
    )]
    MissingProducer {
        /// Instance that reads.
        consumer: String,
        /// Kind of value.
        attribute: &'static str,
        /// Instance that should write.
        producer: String,
    },
    /// Producers need each other in a circle.
    #[error("producers depend on each other in a circle: {}", names.join(" → "))]
    Cycle {
        /// Instances on the circle.
        names: Vec<String>,
    },
    /// A feature gate is unknown or has no boolean value.
    #[error("featureGates: {0}")]
    FeatureGate(String),
}

/// Builds an engine.
///
/// # Errors
/// [`ConfigError`] names the first thing that is wrong.
pub fn build(
    config: &EndpointPickerConfig,
    registry: &Registry,
    resources: &Resources,
) -> Result<Engine, ConfigError> {
    check_gates(config)?;
    let mut instances = Instances::new(registry, resources);
    instances.configured(&config.plugins)?;
    let mut profiles = implied::profiles(config, &instances)?;
    let handler = implied::handler(&profiles, &mut instances)?;
    implied::policies(&mut instances)?;
    let parsers = implied::parsers(config, &mut instances)?;
    let detector = implied::detector(config, &mut instances)?;
    let sources = implied::sources(config, &mut instances)?;
    implied::producers(&mut instances)?;
    let built = profiles
        .iter_mut()
        .map(|profile| build_profile(profile, &mut instances))
        .collect::<Result<Vec<_>, _>>()?;
    check_handler(&*handler, &profiles)?;
    let discovery_ref = config
        .data_layer
        .as_ref()
        .and_then(|layer| layer.discovery.as_ref());
    let discovery = discovery_ref
        .map(|to| instances.discovery("dataLayer.discovery", &to.plugin_ref))
        .transpose()?;
    let warnings = warnings(config, &profiles, &sources);
    Ok(Engine {
        profiles: built,
        handler,
        detector: instances.detector(&detector.name)?,
        producers: instances.producers()?,
        pre_request: instances.pre_request(),
        parsers: resolve_parsers(&parsers, &instances)?,
        uncached: instances.optional_key::<UncachedTokens>(),
        sources: resolve_sources(&sources, &instances)?,
        discovery,
        effective: Effective {
            plugins: instances.effective(),
            profiles,
            parsers,
            detector,
            sources,
            discovery: discovery_ref.map(|to| to.plugin_ref.clone()),
            warnings,
        },
        graph: instances.into_graph(),
    })
}

/// Gates that exist upstream; naming another is an error there too.
fn check_gates(config: &EndpointPickerConfig) -> Result<(), ConfigError> {
    const GATES: [&str; 2] = ["flowControl", "haPopulateNonLeaderDatastore"];
    for gate in &config.feature_gates {
        let mut parts = gate.split('=');
        let name = parts.next().unwrap_or_default();
        if !GATES.contains(&name) {
            return Err(ConfigError::FeatureGate(format!(
                "feature gate `{name}` is unknown; known: `{}`",
                GATES.join("`, `")
            )));
        }
        let value = parts.next().unwrap_or("true").trim().to_ascii_lowercase();
        if !["1", "t", "true", "0", "f", "false"].contains(&value.as_str()) {
            return Err(ConfigError::FeatureGate(format!(
                "`{value}` is not a value for the feature gate `{name}`; accepted: true, false"
            )));
        }
    }
    Ok(())
}

fn check_handler(
    handler: &dyn crate::role::ProfileHandler,
    profiles: &[EffectiveProfile],
) -> Result<(), ConfigError> {
    let names: Vec<&str> = profiles
        .iter()
        .map(|profile| profile.name.as_str())
        .collect();
    if names.len() > ProfileSet::MAX {
        return Err(ConfigError::Profile {
            profile: names.len().to_string(),
            why: format!(
                "too many profiles; at most {} are accepted",
                ProfileSet::MAX
            ),
        });
    }
    handler.check(&names).map_err(|why| ConfigError::Profile {
        profile: names.join(", "),
        why,
    })
}

/// Sorts the entries of one profile into roles; adds a picker and weights where they are missing.
fn build_profile(
    profile: &mut EffectiveProfile,
    instances: &mut Instances<'_>,
) -> Result<Profile, ConfigError> {
    let (mut filters, mut scorers, mut picker) = (Vec::new(), Vec::new(), None);
    for entry in &mut profile.plugins {
        let place = format!("schedulingProfiles[{}]", profile.name);
        let roles = instances.roles(&place, &entry.name)?;
        let name: Arc<str> = Arc::from(entry.name.as_str());
        if let Some(filter) = roles
            .filter
            .clone()
            .filter(|_| roles.detector.is_none() || entry.because.is_none())
        {
            filters.push((Arc::clone(&name), filter));
        }
        if let Some(scorer) = roles.scorer.clone() {
            let (weight, _) = entry.weight.get_or_insert_with(|| {
                (1.0, Some("a scorer without weight counts once".to_owned()))
            });
            scorers.push(Weighted {
                name: Arc::clone(&name),
                weight: *weight,
                scorer,
            });
        }
        if let Some(own) = roles.picker.clone()
            && let Some((other, _)) = picker.replace((Arc::clone(&name), own))
        {
            return Err(ConfigError::Profile {
                profile: profile.name.clone(),
                why: format!("has two pickers, `{other}` and `{name}`; one is accepted"),
            });
        }
    }
    let picker = match picker {
        Some(picker) => picker,
        None => {
            let (name, picker) = implied::picker(instances)?;
            profile.plugins.push(EffectiveEntry {
                name: name.to_string(),
                weight: None,
                because: Some("a profile needs a picker".to_owned()),
            });
            (name, picker)
        }
    };
    Ok(Profile {
        name: Arc::from(profile.name.as_str()),
        filters,
        scorers,
        picker,
    })
}

fn resolve_parsers(
    parsers: &[EffectiveRef],
    instances: &Instances<'_>,
) -> Result<Parsers, ConfigError> {
    let mut resolved = Parsers::default();
    for to in parsers {
        let parser = instances.parser("requestHandler.parsers", &to.name)?;
        resolved.fallback |= parser.claims().is_empty();
        resolved.claimed.extend_from_slice(parser.claims());
    }
    Ok(resolved)
}

fn resolve_sources(
    sources: &[(EffectiveRef, Vec<EffectiveRef>)],
    instances: &Instances<'_>,
) -> Result<Vec<Feed>, ConfigError> {
    sources
        .iter()
        .map(|(source, extractors)| {
            let extractors = extractors
                .iter()
                .map(|to| instances.extractor("dataLayer.sources[].extractors", &to.name))
                .collect::<Result<_, _>>()?;
            Ok((
                instances.source("dataLayer.sources", &source.name)?,
                extractors,
            ))
        })
        .collect()
}

fn warnings(
    config: &EndpointPickerConfig,
    profiles: &[EffectiveProfile],
    sources: &[(EffectiveRef, Vec<EffectiveRef>)],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if sources.is_empty() {
        warnings.push(
            "no data source is configured: load scorers see every endpoint as unknown".to_owned(),
        );
    }
    for profile in profiles {
        if profile.plugins.iter().all(|entry| entry.weight.is_none()) {
            warnings.push(format!(
                "profile `{}` has no scorer: its picker chooses at random",
                profile.name
            ));
        }
    }
    if config.saturation_detector.is_some() {
        warnings
            .push("`saturationDetector` is deprecated; write it under `flowControl`".to_owned());
    }
    if config.parser.is_some() {
        warnings.push("`parser` is deprecated; write `requestHandler.parsers`".to_owned());
    }
    warnings
}
