//! Adapters to base models.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Names of models with the base model of each. Names are exact, but for blanks around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseModels {
    /// Base models too, each its own.
    bases: HashMap<Box<str>, Arc<str>>,
}

/// A name that belongs to another base model already.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` already belongs to the base model `{base}`")]
pub struct Conflict {
    /// The name.
    pub name: String,
    /// Its base model so far.
    pub base: Arc<str>,
}

// === impl BaseModels ===

impl BaseModels {
    /// Adds `name`, whose base model is `base`; a base model is its own. `false`: it was there.
    ///
    /// # Errors
    /// [`Conflict`] if it is there with another base model, which stays.
    pub fn insert(&mut self, name: &str, base: &Arc<str>) -> Result<bool, Conflict> {
        match self.bases.entry(name.trim().into()) {
            Entry::Vacant(entry) => {
                entry.insert(Arc::clone(base));
                Ok(true)
            }
            Entry::Occupied(entry) if entry.get() == base => Ok(false),
            Entry::Occupied(entry) => Err(Conflict {
                name: entry.key().to_string(),
                base: Arc::clone(entry.get()),
            }),
        }
    }

    /// The base model of `name`.
    #[must_use]
    pub fn base(&self, name: &str) -> Option<&Arc<str>> {
        self.bases.get(name.trim())
    }

    /// Number of names, base models included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bases.len()
    }

    /// Whether no name is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bases.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_base_model() {
        let (llama, qwen) = (Arc::from("llama"), Arc::from("qwen"));
        let mut models = BaseModels::default();
        assert_eq!(models.insert("llama", &llama), Ok(true));
        assert_eq!(models.insert(" sql ", &llama), Ok(true));
        assert_eq!(models.insert("sql", &llama), Ok(false));
        let conflict = models.insert("sql", &qwen).unwrap_err();
        assert_eq!(
            conflict.to_string(),
            "`sql` already belongs to the base model `llama`"
        );
        assert_eq!(models.base("\tsql"), Some(&llama));
        assert_eq!(models.base("llama"), Some(&llama));
        assert_eq!(models.base("SQL"), None);
        assert_eq!(models.len(), 2);
    }
}
