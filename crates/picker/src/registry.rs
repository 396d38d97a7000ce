//! All plugin types that a process knows, joined from its catalogues.

use crate::plugin::Descriptor;

/// All plugin types that a process knows.
#[derive(Debug, Clone)]
pub struct Registry {
    types: Vec<Descriptor>,
}

/// Two catalogues, or two entries of one, have the same name.
#[derive(Debug, thiserror::Error)]
#[error("plugin type `{0}` is registered twice")]
pub struct DuplicateType(pub &'static str);

// === impl Registry ===

impl Registry {
    /// Joins catalogues.
    ///
    /// # Errors
    /// When a name is there twice.
    pub fn new(catalogues: &[&[Descriptor]]) -> Result<Self, DuplicateType> {
        let mut types: Vec<Descriptor> = Vec::new();
        for descriptor in catalogues.iter().copied().flatten() {
            if types.iter().any(|known| known.name == descriptor.name) {
                return Err(DuplicateType(descriptor.name));
            }
            types.push(*descriptor);
        }
        Ok(Self { types })
    }

    /// The type of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Descriptor> {
        self.types.iter().find(|descriptor| descriptor.name == name)
    }

    /// All types, in the order of the catalogues.
    pub fn iter(&self) -> impl Iterator<Item = &Descriptor> {
        self.types.iter()
    }
}
