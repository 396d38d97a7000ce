//! Configurations that build, what they come to, and what is said of those that do not.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper that cannot go on fails its test"
)]

use suimon_api::parse_picker_config;
use suimon_picker::{ConfigError, Effective, Engine, Registry, Resources};

/// What the peers' guides start from.
const STANDARD: &str = include_str!("data/standard.yaml");
const EFFECTIVE: &str = include_str!("data/standard-effective.yaml");

fn registry() -> Registry {
    Registry::new(&[suimon_plugins::CATALOGUE, suimon_datalayer::CATALOGUE]).unwrap()
}

fn try_build(yaml: &str) -> Result<Engine, ConfigError> {
    let config = parse_picker_config(yaml).unwrap_or_else(|error| panic!("{error}:\n{yaml}"));
    suimon_picker::build(&config, &registry(), &Resources::default())
}

fn build(yaml: &str) -> Engine {
    try_build(yaml).unwrap_or_else(|error| panic!("{error}:\n{yaml}"))
}

fn refusal(yaml: &str) -> String {
    try_build(yaml).unwrap_err().to_string()
}

/// The same, as if somebody had written every line.
fn as_written(mut effective: Effective) -> Effective {
    for plugin in &mut effective.plugins {
        plugin.because = None;
    }
    for profile in &mut effective.profiles {
        profile.because = None;
        for entry in &mut profile.plugins {
            entry.because = None;
            if let Some((_, because)) = &mut entry.weight {
                *because = None;
            }
        }
    }
    let sources = effective.sources.iter_mut();
    let sources = sources.flat_map(|(source, extractors)| [source].into_iter().chain(extractors));
    let refs = sources.chain(&mut effective.parsers);
    for to in refs.chain([&mut effective.detector]) {
        to.because = None;
    }
    effective
}

#[test]
fn the_standard_configuration_comes_to_this() {
    let engine = build(STANDARD);
    assert_eq!(engine.effective.to_yaml(), EFFECTIVE);
    assert_eq!(engine.effective.warnings, Vec::<String>::new());
    assert_eq!(engine.sources.len(), 1);
    assert!(engine.discovery.is_none());
}

#[test]
fn the_effective_configuration_loads_to_itself() {
    let some_of_all = "
featureGates: [flowControl=false, haPopulateNonLeaderDatastore]
plugins:
- {name: detect, type: utilization-detector, parameters: {queueDepthThreshold: 9}}
- {name: 'on', type: random-picker, parameters: {maxNumOfEndpoints: 2}}
- {name: with space, type: queue-scorer}
- {name: prefix, type: prefix-cache-scorer, parameters: {prefixMatchInfoProducerName: held}}
- {name: held, type: approx-prefix-cache-producer}
- {name: mine, type: metrics-data-source}
- {name: files, type: file-discovery, parameters: {path: /endpoints.yaml}}
schedulingProfiles:
- name: '7'
  plugins:
  - {pluginRef: detect}
  - {pluginRef: with space, weight: 0.25}
  - {pluginRef: prefix, weight: -1}
dataLayer:
  discovery: {pluginRef: files}
  sources:
  - {pluginRef: mine}
flowControl:
  saturationDetector: {pluginRef: detect}
requestHandler:
  parsers: [{pluginRef: openai-parser}]
";
    for yaml in ["", STANDARD, some_of_all, "plugins: [{type: queue-scorer}]"] {
        let effective = build(yaml).effective;
        let text = effective.to_yaml();
        let again = build(&text).effective;
        assert_eq!(as_written(again), as_written(effective), "{text}");
    }
}

#[test]
fn the_empty_configuration_builds_and_says_what_it_lacks() {
    let effective = build("").effective;
    let [profile] = &*effective.profiles else {
        panic!("{:?}", effective.profiles)
    };
    assert_eq!(profile.name, "default");
    let names: Vec<&str> = profile.plugins.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["max-score-picker"]);
    assert_eq!(
        effective.warnings,
        ["profile `default` has no scorer: its picker chooses at random"]
    );
}

#[test]
fn each_plugin_alone_builds() {
    for descriptor in registry().iter() {
        let parameters = match descriptor.name {
            "file-discovery" => "\n  parameters: {path: /endpoints.yaml}",
            _ => "",
        };
        let engine = build(&format!(
            "plugins:\n- type: {}{parameters}",
            descriptor.name
        ));
        let first = &engine.effective.plugins[0];
        assert_eq!((first.kind, &first.because), (descriptor.name, &None));
    }
}

#[test]
fn a_scorer_without_weight_counts_once() {
    let effective = build("plugins: [{type: queue-scorer}]").effective;
    let entry = &effective.profiles[0].plugins[0];
    let (weight, because) = entry.weight.as_ref().unwrap();
    assert_eq!((&*entry.name, *weight), ("queue-scorer", 1.0));
    assert_eq!(
        because.as_deref(),
        Some("a scorer without weight counts once")
    );
}

#[test]
fn a_detector_is_no_part_of_an_implied_profile() {
    let effective =
        build("plugins: [{type: utilization-detector}, {type: queue-scorer}]").effective;
    let names = effective.profiles[0].plugins.iter().map(|e| &*e.name);
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["queue-scorer", "max-score-picker"]
    );
}

#[test]
fn a_metrics_source_under_another_name_is_not_joined_by_a_second() {
    let yaml = "
plugins: [{name: mine, type: metrics-data-source}, {type: core-metrics-extractor}]
dataLayer:
  sources: [{pluginRef: mine, extractors: [{pluginRef: core-metrics-extractor}]}]
";
    let effective = build(yaml).effective;
    let sources = effective.sources.iter().map(|(to, _)| &*to.name);
    assert_eq!(sources.collect::<Vec<_>>(), ["mine"]);
}

#[test]
fn without_a_source_a_warning_says_what_that_means() {
    let effective = build("plugins: [{type: queue-scorer}]\ndataLayer: {injectDefaults: false}");
    assert_eq!(effective.sources.len(), 0);
    assert_eq!(
        effective.effective.warnings,
        ["no data source is configured: load scorers see every endpoint as unknown"]
    );
}

#[test]
fn former_places_still_count_but_the_present_ones_win() {
    let yaml = "
plugins:
- {name: former, type: utilization-detector}
- {name: present, type: utilization-detector}
- {type: queue-scorer}
saturationDetector: {pluginRef: former}
parser: {pluginRef: openai-parser}
";
    let effective = build(yaml).effective;
    assert_eq!(effective.detector.name, "former");
    assert_eq!(effective.parsers[0].name, "openai-parser");
    assert_eq!(
        effective.warnings,
        [
            "`saturationDetector` is deprecated; write it under `flowControl`",
            "`parser` is deprecated; write `requestHandler.parsers`",
        ]
    );
    let both = format!(
        "{yaml}flowControl: {{saturationDetector: {{pluginRef: present}}}}\n\
         requestHandler: {{parsers: [{{pluginRef: anthropic-parser}}]}}\n"
    );
    let effective = build(&both).effective;
    assert_eq!(effective.detector.name, "present");
    assert_eq!(effective.parsers.len(), 1);
    assert_eq!(effective.parsers[0].name, "anthropic-parser");
}

/// Configurations and why they are refused.
const REFUSED: &[(&str, &str)] = &[
    (
        "plugins: [{type: queue-scorrer}]",
        "plugins[0]: plugin type `queue-scorrer` is not registered; did you mean `queue-scorer`?",
    ),
    (
        "plugins: [{type: queue-scorer}, {type: queue-scorer}]",
        "plugins[1]: duplicate plugin name `queue-scorer`; give one of them another `name`",
    ),
    (
        "plugins: [{type: queue-scorer}]\n\
         schedulingProfiles: [{name: p, plugins: [{pluginRef: queue-scorr}]}]",
        "schedulingProfiles[p].plugins: plugin `queue-scorr` is not defined; did you mean \
         `queue-scorer`?",
    ),
    (
        "schedulingProfiles: [{name: p, plugins: [{pluginRef: other}]}]",
        "schedulingProfiles[p].plugins: plugin `other` is not defined; add it to `plugins`",
    ),
    (
        "schedulingProfiles: [{name: p, plugins: [{pluginRef: ''}]}]",
        "schedulingProfiles[p]: an entry has no `pluginRef`",
    ),
    (
        "plugins: [{type: max-score-picker}, {type: random-picker}]",
        "schedulingProfiles[default]: has two pickers, `max-score-picker` and `random-picker`; one \
         is accepted",
    ),
    (
        "schedulingProfiles: [{name: a}, {name: b}]",
        "schedulingProfiles[a, b]: several profiles need a profile handler and none is configured",
    ),
    (
        "plugins: [{type: single-profile-handler}]\nschedulingProfiles: [{name: a}, {name: b}]",
        "schedulingProfiles[a, b]: single-profile-handler takes exactly one profile, got 2",
    ),
    (
        "plugins: [{type: single-profile-handler}, {type: single-profile-handler, name: two}]",
        "plugins: plugin `two` is a second profile handler beside `single-profile-handler`; one is \
         accepted",
    ),
    (
        "schedulingProfiles: [{name: a}, {name: a}]",
        "schedulingProfiles[a]: another profile has the same name",
    ),
    (
        "schedulingProfiles: [{name: ''}]",
        "schedulingProfiles[0]: `name` is missing",
    ),
    (
        "featureGates: [prepareDataPlugins]",
        "featureGates: feature gate `prepareDataPlugins` is unknown; known: `flowControl`, \
         `haPopulateNonLeaderDatastore`",
    ),
    (
        "featureGates: [flowControl=maybe]",
        "featureGates: `maybe` is not a value for the feature gate `flowControl`; accepted: true, \
         false",
    ),
];

#[test]
fn what_does_not_build_is_told_with_place_cause_and_remedy() {
    for (yaml, message) in REFUSED {
        assert_eq!(refusal(yaml), *message, "{yaml}");
    }
}

#[test]
fn parameters_that_do_not_fit_are_told_by_name() {
    let prefix = "plugin `p` (type `prefix-cache-scorer`)";
    let accepted = "`prefixMatchInfoProducerName`, `matchLengthWeight`, `matchLengthScaleTokens`";
    for (parameters, message) in [
        (
            "{matchLengthWeigth: 0.5}",
            format!(
                "{prefix}: parameters: `matchLengthWeigth`: unknown field `matchLengthWeigth`; \
                 did you mean `matchLengthWeight`; accepted: {accepted}"
            ),
        ),
        (
            "{matchLengthWeight: 1.5}",
            format!(
                "{prefix}: parameter `matchLengthWeight`: must be between 0.0 and 1.0, got 1.5"
            ),
        ),
        (
            "{prefixMatchInfoProducerName: mine}",
            "plugin `p` needs `PrefixCacheMatchInfo` from plugin `mine`, which is not configured"
                .to_owned(),
        ),
    ] {
        let yaml =
            format!("plugins: [{{type: prefix-cache-scorer, name: p, parameters: {parameters}}}]");
        assert_eq!(refusal(&yaml), message);
    }
}

#[test]
fn a_type_that_is_like_no_other_is_told_with_all_that_there_are() {
    for (kind, start) in [
        (
            "xyz",
            "plugins[0]: plugin type `xyz` is not registered; known types: ",
        ),
        ("''", "plugins[0]: `type` is missing; known types: "),
    ] {
        let message = refusal(&format!("plugins: [{{type: {kind}}}]"));
        assert!(message.starts_with(start), "{message}");
        for descriptor in registry().iter() {
            assert!(message.contains(descriptor.name), "{message}");
        }
    }
}

#[test]
fn references_to_an_instance_of_another_role_are_told() {
    for (section, message) in [
        (
            "flowControl: {saturationDetector: {pluginRef: queue-scorer}}",
            "flowControl.saturationDetector: plugin `queue-scorer` is not a saturation detector",
        ),
        (
            "requestHandler: {parsers: [{pluginRef: queue-scorer}]}",
            "requestHandler.parsers: plugin `queue-scorer` is not a parser",
        ),
        (
            "requestHandler: {parsers: [{pluginRef: opnai-parser}]}",
            "requestHandler.parsers: plugin type `opnai-parser` is not registered; did you mean \
             `openai-parser`?",
        ),
        (
            "dataLayer: {sources: [{pluginRef: queue-scorer}]}",
            "dataLayer.sources: plugin `queue-scorer` is not a data source",
        ),
        (
            "dataLayer: {sources: [{pluginRef: queue-scorer, extractors: [{pluginRef: queue-scorer}]}]}",
            "dataLayer.sources[].extractors: plugin `queue-scorer` is not an extractor",
        ),
        (
            "dataLayer: {discovery: {pluginRef: queue-scorer}}",
            "dataLayer.discovery: plugin `queue-scorer` is not a discovery plugin",
        ),
    ] {
        let yaml = format!("plugins: [{{type: queue-scorer}}]\n{section}");
        assert_eq!(refusal(&yaml), message);
    }
}
