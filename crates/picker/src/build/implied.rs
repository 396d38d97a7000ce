//! What a configuration leaves out and the engine needs: one function a section, each instance with
//! the reason why it is there.

use std::sync::Arc;

use suimon_api::picker_config::EndpointPickerConfig;

use super::ConfigError;
use super::instances::Instances;
use crate::effective::{EffectiveEntry, EffectiveProfile, EffectiveRef};
use crate::plugin::Roles;
use crate::role::{Picker, ProfileHandler};

const METRICS_SOURCE: &str = "metrics-data-source";
const CORE_EXTRACTOR: &str = "core-metrics-extractor";
const DEFAULT_DETECTOR: &str = "utilization-detector";
const DEFAULT_HANDLER: &str = "single-profile-handler";
const DEFAULT_PICKER: &str = "max-score-picker";
const DEFAULT_PARSERS: [&str; 4] = [
    "openai-parser",
    "anthropic-parser",
    "vllmhttp-parser",
    "passthrough-parser",
];
const POLICIES: [(&str, &str); 3] = [
    (
        "fcfs-ordering-policy",
        "requests of one flow leave a queue in the order of their arrival",
    ),
    (
        "global-strict-fairness-policy",
        "without another policy all flows share one queue",
    ),
    (
        "static-usage-limit-policy",
        "without another policy a pool is filled up to saturation 1.0",
    ),
];

/// The profiles as configured, or one of all that can be part of it.
pub(super) fn profiles(
    config: &EndpointPickerConfig,
    instances: &Instances<'_>,
) -> Result<Vec<EffectiveProfile>, ConfigError> {
    if config.scheduling_profiles.is_empty() {
        let part = |roles: &Roles| {
            roles.scorer.is_some()
                || roles.picker.is_some()
                || (roles.filter.is_some() && roles.detector.is_none())
        };
        let entry = |name| EffectiveEntry {
            name,
            weight: None,
            because: Some("no profile lists it and it can be part of one".to_owned()),
        };
        return Ok(vec![EffectiveProfile {
            name: "default".to_owned(),
            plugins: instances.names_with(part).into_iter().map(entry).collect(),
            because: Some("no scheduling profile is configured".to_owned()),
        }]);
    }
    let mut profiles: Vec<EffectiveProfile> = Vec::new();
    for (index, profile) in config.scheduling_profiles.iter().enumerate() {
        let wrong = |why: &str| ConfigError::Profile {
            profile: if profile.name.is_empty() {
                index.to_string()
            } else {
                profile.name.clone()
            },
            why: why.to_owned(),
        };
        if profile.name.is_empty() {
            return Err(wrong("`name` is missing"));
        }
        if profiles.iter().any(|known| known.name == profile.name) {
            return Err(wrong("another profile has the same name"));
        }
        let mut plugins = Vec::new();
        for entry in &profile.plugins {
            let place = format!("schedulingProfiles[{}].plugins", profile.name);
            if entry.plugin_ref.is_empty() {
                return Err(wrong("an entry has no `pluginRef`"));
            }
            instances.roles(&place, &entry.plugin_ref)?;
            plugins.push(EffectiveEntry {
                name: entry.plugin_ref.clone(),
                weight: entry.weight.map(|weight| (weight, None)),
                because: None,
            });
        }
        profiles.push(EffectiveProfile {
            name: profile.name.clone(),
            plugins,
            because: None,
        });
    }
    Ok(profiles)
}

/// The one profile handler; a single profile needs none to be configured.
pub(super) fn handler(
    profiles: &[EffectiveProfile],
    instances: &mut Instances<'_>,
) -> Result<Arc<dyn ProfileHandler>, ConfigError> {
    let names = instances.names_with(|roles| roles.profile_handler.is_some());
    let name = match names.as_slice() {
        [] if profiles.len() == 1 => {
            instances.imply(DEFAULT_HANDLER, "one profile needs no other handler")?;
            DEFAULT_HANDLER
        }
        [] => {
            return Err(ConfigError::Profile {
                profile: profiles
                    .iter()
                    .map(|p| p.name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
                why: "several profiles need a profile handler and none is configured".to_owned(),
            });
        }
        [one] => one.as_str(),
        [one, two, ..] => {
            return Err(ConfigError::Reference {
                place: "plugins".to_owned(),
                name: two.clone(),
                why: format!("is a second profile handler beside `{one}`; one is accepted"),
            });
        }
    };
    let roles = instances.roles("plugins", name)?;
    roles
        .profile_handler
        .clone()
        .ok_or_else(|| ConfigError::Reference {
            place: "plugins".to_owned(),
            name: name.to_owned(),
            why: "is not a profile handler".to_owned(),
        })
}

/// The picker of a profile that has none: the first that is configured, else the best score.
pub(super) fn picker(
    instances: &mut Instances<'_>,
) -> Result<(Arc<str>, Arc<dyn Picker>), ConfigError> {
    let first = instances
        .names_with(|roles| roles.picker.is_some())
        .into_iter()
        .next();
    let name = match first {
        Some(name) => name,
        None => {
            instances.imply(DEFAULT_PICKER, "no picker is configured")?;
            DEFAULT_PICKER.to_owned()
        }
    };
    let roles = instances.roles("schedulingProfiles", &name)?;
    let picker = roles.picker.clone().ok_or_else(|| ConfigError::Reference {
        place: "schedulingProfiles".to_owned(),
        name: name.clone(),
        why: "is not a picker".to_owned(),
    })?;
    Ok((Arc::from(name), picker))
}

/// The policies of flow control.
pub(super) fn policies(instances: &mut Instances<'_>) -> Result<(), ConfigError> {
    POLICIES
        .iter()
        .try_for_each(|(kind, because)| instances.imply(kind, because))
}

/// The parsers as configured, else those of the common APIs; one named by its type needs no entry.
pub(super) fn parsers(
    config: &EndpointPickerConfig,
    instances: &mut Instances<'_>,
) -> Result<Vec<EffectiveRef>, ConfigError> {
    let listed: Vec<String> = match &config.request_handler {
        Some(handler) if !handler.parsers.is_empty() => handler
            .parsers
            .iter()
            .map(|to| to.plugin_ref.clone())
            .collect(),
        _ => config
            .parser
            .iter()
            .map(|to| to.plugin_ref.clone())
            .collect(),
    };
    if listed.is_empty() {
        let because = "no parser is configured";
        DEFAULT_PARSERS
            .iter()
            .try_for_each(|kind| instances.imply(kind, because))?;
        return Ok(DEFAULT_PARSERS
            .map(|kind| implied_ref(kind, because))
            .to_vec());
    }
    for name in &listed {
        let because = "a parser that is named by its type needs no entry";
        instances.imply_at("requestHandler.parsers", name, because)?;
    }
    Ok(listed.into_iter().map(written_ref).collect())
}

/// The saturation detector as configured, in its present or its former place.
pub(super) fn detector(
    config: &EndpointPickerConfig,
    instances: &mut Instances<'_>,
) -> Result<EffectiveRef, ConfigError> {
    let flow = config
        .flow_control
        .as_ref()
        .and_then(|flow| flow.saturation_detector.as_ref());
    let name = flow
        .or(config.saturation_detector.as_ref())
        .map(|to| to.plugin_ref.as_str());
    match name.filter(|name| !name.is_empty()) {
        Some(DEFAULT_DETECTOR) => {
            instances.imply(DEFAULT_DETECTOR, "it is named by its type")?;
            Ok(written_ref(DEFAULT_DETECTOR.to_owned()))
        }
        Some(name) => Ok(written_ref(name.to_owned())),
        None => {
            let because = "no saturation detector is configured";
            instances.imply(DEFAULT_DETECTOR, because)?;
            Ok(implied_ref(DEFAULT_DETECTOR, because))
        }
    }
}

/// Sources with their extractors, and the metrics source unless some instance of it is listed, under
/// whatever name, or `injectDefaults` is off.
pub(super) fn sources(
    config: &EndpointPickerConfig,
    instances: &mut Instances<'_>,
) -> Result<Vec<(EffectiveRef, Vec<EffectiveRef>)>, ConfigError> {
    let layer = config.data_layer.as_ref();
    let mut sources: Vec<(EffectiveRef, Vec<EffectiveRef>)> = layer
        .map(|layer| &layer.sources[..])
        .unwrap_or_default()
        .iter()
        .map(|source| {
            let extractors = source
                .extractors
                .iter()
                .map(|to| written_ref(to.plugin_ref.clone()));
            (written_ref(source.plugin_ref.clone()), extractors.collect())
        })
        .collect();
    let inject = layer
        .and_then(|layer| layer.inject_defaults)
        .unwrap_or(true);
    let listed = sources
        .iter()
        .any(|(to, _)| instances.has_type(&to.name, METRICS_SOURCE));
    if inject && !listed {
        let because = "load scorers need metrics";
        instances.imply(METRICS_SOURCE, because)?;
        instances.imply(CORE_EXTRACTOR, because)?;
        let because = "no source of `dataLayer` reads metrics";
        let extractor = implied_ref(CORE_EXTRACTOR, because);
        sources.push((implied_ref(METRICS_SOURCE, because), vec![extractor]));
    }
    Ok(sources)
}

/// Default producers of required values, until nothing is missing.
pub(super) fn producers(instances: &mut Instances<'_>) -> Result<(), ConfigError> {
    while let Some(missing) = instances.missing().into_iter().next() {
        match missing.create {
            Some(kind) if !instances.has(kind) => {
                let because = format!("`{}` needs {} from it", missing.consumer, missing.attribute);
                instances.imply(kind, &because)?;
            }
            _ => {
                return Err(ConfigError::MissingProducer {
                    consumer: missing.consumer,
                    attribute: missing.attribute,
                    producer: missing.producer,
                });
            }
        }
    }
    Ok(())
}

fn written_ref(name: String) -> EffectiveRef {
    EffectiveRef {
        name,
        because: None,
    }
}

fn implied_ref(name: &str, because: &str) -> EffectiveRef {
    EffectiveRef {
        name: name.to_owned(),
        because: Some(because.to_owned()),
    }
}
