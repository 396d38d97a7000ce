//! ConfigMaps of a file or folder → base models.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use suimon_api::base_model::LABELS;
use suimon_api::cluster::ConfigMap;
use suimon_api::{Document, Object, base_model, parse_documents};
use suimon_extproc::bbr::BaseModels;

use crate::wire::load::{self, LoadError};

/// A map, and what is odd about it.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    models: BaseModels,
    warnings: Vec<String>,
}

/// What is known while documents are read.
#[derive(Debug, Default)]
struct Loading {
    loaded: Loaded,
    faults: Vec<String>,
    /// Place of each ConfigMap.
    maps: HashMap<String, String>,
    /// Place where each name was first.
    names: HashMap<String, String>,
}

/// Reads all ConfigMaps of a file, or of the files of a folder in the order of their names.
///
/// # Errors
/// All faults at once; nothing is taken if there is one.
pub(super) fn load(path: &Path) -> Result<Loaded, LoadError> {
    let files = load::files(path).map_err(|fault| LoadError {
        faults: vec![fault],
    })?;
    let mut loading = Loading::default();
    for file in files {
        let name = file.display().to_string();
        match load::read(&file) {
            Ok(text) => loading.file(&name, &text),
            Err(error) => loading
                .faults
                .push(format!("{name}: cannot be read: {error}")),
        }
    }
    loading.finish(path)
}

// === impl Loading ===

impl Loading {
    fn file(&mut self, name: &str, text: &str) {
        for document in parse_documents(name, text) {
            match document {
                Err(error) => self.faults.push(error.to_string()),
                Ok(Document {
                    document,
                    object: Object::ConfigMap(map),
                    ..
                }) => self.map(&format!("{name}: document {document}"), &map),
                // Manifests of other things may be in the same folder.
                Ok(_) => {}
            }
        }
    }

    fn map(&mut self, place: &str, map: &ConfigMap) {
        let metadata = &map.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or("default");
        let key = format!("{namespace}/{}", metadata.name);
        let place = format!("{place}: ConfigMap `{key}`");
        let Some(read) = base_model(map) else {
            let warning = format!(
                "{place} has no label `{}: \"true\"`; it is left out",
                LABELS[0]
            );
            self.loaded.warnings.push(warning);
            return;
        };
        if let Some(before) = self.maps.get(&key) {
            self.faults
                .push(format!("{place} is there already: {before}"));
            return;
        }
        self.maps.insert(key, place.clone());
        match read {
            Err(error) => self.faults.push(format!("{place}: {error}")),
            Ok(model) => {
                let base = Arc::from(model.name.as_str());
                self.name((&place, "data.baseModel"), &model.name, &base);
                for adapter in &model.adapters {
                    self.name((&place, "data.adapters"), adapter, &base);
                }
            }
        }
    }

    /// Adds one name. That several maps name the same base model is how long lists are shared.
    fn name(&mut self, (place, field): (&str, &str), name: &str, base: &Arc<str>) {
        let first = |names: &HashMap<String, String>| {
            let first = names.get(name);
            first.map_or(String::new(), |first| format!(" ({first})"))
        };
        match self.loaded.models.insert(name, base) {
            Ok(true) => {
                self.names.insert(name.to_owned(), place.to_owned());
            }
            Ok(false) if name == &**base => {}
            Ok(false) => {
                let before = first(&self.names);
                let warning = format!("{place}: `{field}`: `{name}` is there twice{before}");
                self.loaded.warnings.push(warning);
            }
            Err(conflict) => {
                let before = first(&self.names);
                let accepted = "accepted: a name that no other model has";
                self.faults.push(format!(
                    "{place}: `{field}`: {conflict}{before}; {accepted}"
                ));
            }
        }
    }

    fn finish(mut self, path: &Path) -> Result<Loaded, LoadError> {
        if self.maps.is_empty() && self.faults.is_empty() {
            self.faults.extend(self.loaded.warnings);
            let wanted = format!("no ConfigMap with the label `{}: \"true\"`", LABELS[0]);
            self.faults
                .push(format!("{}: has {wanted}", path.display()));
            return Err(LoadError {
                faults: self.faults,
            });
        }
        if self.faults.is_empty() {
            Ok(self.loaded)
        } else {
            Err(LoadError {
                faults: self.faults,
            })
        }
    }
}

// === impl Loaded ===

impl Loaded {
    /// Tells the log what is odd and gives the map.
    pub(super) fn tell(self) -> BaseModels {
        for warning in &self.warnings {
            tracing::warn!("{warning}");
        }
        self.models
    }
}

#[cfg(test)]
mod tests;
