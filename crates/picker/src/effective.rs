//! The configuration in force, with the reason for each line that nobody wrote.

use std::fmt::Write as _;

use serde_json::Value;

/// The configuration in force.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// Instances, in the order in which they were made.
    pub plugins: Vec<EffectivePlugin>,
    /// Profiles.
    pub profiles: Vec<EffectiveProfile>,
    /// Parsers.
    pub parsers: Vec<EffectiveRef>,
    /// The saturation detector.
    pub detector: EffectiveRef,
    /// Sources with their extractors.
    pub sources: Vec<(EffectiveRef, Vec<EffectiveRef>)>,
    /// The discovery plugin.
    pub discovery: Option<String>,
    /// What works, but hardly as meant.
    pub warnings: Vec<String>,
}

/// One instance.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectivePlugin {
    /// Name of the instance.
    pub name: String,
    /// Its type.
    pub kind: &'static str,
    /// Its parameters with all defaults filled in.
    pub parameters: Value,
    /// Why it is there although nobody wrote it.
    pub because: Option<String>,
}

/// One profile.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveProfile {
    /// Name of the profile.
    pub name: String,
    /// Its entries.
    pub plugins: Vec<EffectiveEntry>,
    /// Why it is there although nobody wrote it.
    pub because: Option<String>,
}

/// One entry of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveEntry {
    /// Name of the instance.
    pub name: String,
    /// Weight, of scorers only, and why it is there although nobody wrote it.
    pub weight: Option<(f64, Option<String>)>,
    /// Why the entry is there although nobody wrote it.
    pub because: Option<String>,
}

/// A reference to an instance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EffectiveRef {
    /// Name of the instance.
    pub name: String,
    /// Why it is there although nobody wrote it.
    pub because: Option<String>,
}

// === impl Effective ===

impl Effective {
    /// The configuration as YAML that loads to the same engine. Implied lines end with a comment.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut yaml = Yaml::default();
        yaml.line(0, "apiVersion: llm-d.ai/v1alpha1", None);
        yaml.line(0, "kind: EndpointPickerConfig", None);
        yaml.line(0, "plugins:", None);
        for plugin in &self.plugins {
            yaml.line(
                0,
                &format!("- type: {}", plugin.kind),
                plugin.because.as_deref(),
            );
            if plugin.name != plugin.kind {
                yaml.line(1, &format!("name: {}", scalar(&plugin.name)), None);
            }
            if plugin
                .parameters
                .as_object()
                .is_some_and(|object| !object.is_empty())
            {
                yaml.line(1, &format!("parameters: {}", plugin.parameters), None);
            }
        }
        self.write_profiles(&mut yaml);
        self.write_data_layer(&mut yaml);
        yaml.line(0, "flowControl:", None);
        yaml.line(1, "saturationDetector:", None);
        yaml.reference(2, "", &self.detector);
        yaml.line(0, "requestHandler:", None);
        yaml.line(1, "parsers:", None);
        for parser in &self.parsers {
            yaml.reference(1, "- ", parser);
        }
        yaml.text
    }

    fn write_profiles(&self, yaml: &mut Yaml) {
        yaml.line(0, "schedulingProfiles:", None);
        for profile in &self.profiles {
            let name = scalar(&profile.name);
            yaml.line(0, &format!("- name: {name}"), profile.because.as_deref());
            yaml.line(1, "plugins:", None);
            for entry in &profile.plugins {
                let name = scalar(&entry.name);
                yaml.line(1, &format!("- pluginRef: {name}"), entry.because.as_deref());
                if let Some((weight, because)) = &entry.weight {
                    yaml.line(2, &format!("weight: {weight}"), because.as_deref());
                }
            }
        }
    }

    fn write_data_layer(&self, yaml: &mut Yaml) {
        yaml.line(0, "dataLayer:", None);
        yaml.line(
            1,
            "injectDefaults: false",
            Some("every source is written out below"),
        );
        if let Some(discovery) = &self.discovery {
            yaml.line(1, "discovery:", None);
            yaml.line(2, &format!("pluginRef: {}", scalar(discovery)), None);
        }
        let empty = if self.sources.is_empty() { " []" } else { "" };
        yaml.line(1, &format!("sources:{empty}"), None);
        for (source, extractors) in &self.sources {
            yaml.reference(1, "- ", source);
            yaml.line(2, "extractors:", None);
            for extractor in extractors {
                yaml.reference(2, "- ", extractor);
            }
        }
    }
}

#[derive(Default)]
struct Yaml {
    text: String,
}

impl Yaml {
    fn line(&mut self, depth: usize, line: &str, because: Option<&str>) {
        let indent = depth * 2;
        let _ = match because {
            None => writeln!(self.text, "{:indent$}{line}", ""),
            Some(because) => writeln!(
                self.text,
                "{:indent$}{line}  # implied because {because}",
                ""
            ),
        };
    }

    fn reference(&mut self, depth: usize, lead: &str, to: &EffectiveRef) {
        let line = format!("{lead}pluginRef: {}", scalar(&to.name));
        self.line(depth, &line, to.because.as_deref());
    }
}

/// A YAML scalar; quoted unless it is plainly a name.
fn scalar(text: &str) -> String {
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
        && !["true", "false", "null", "yes", "no", "on", "off"].contains(&text);
    if plain {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}
