//! `envoy.config.core.v3.Metadata`.

use super::value::{Struct, Value, entries, entry, last};
use crate::wire::{DecodeError, Encode, Reader, Sink};

/// Metadata of a request, by namespace. Typed metadata is not read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// `filter_metadata`: namespaces with their values.
    pub filter: Vec<(String, Struct)>,
}

// === impl Metadata ===

impl Metadata {
    /// The value of `key` in `namespace`.
    #[must_use]
    pub fn get(&self, namespace: &str, key: &str) -> Option<&Value> {
        last(&self.filter, namespace)?.get(key)
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<Self, DecodeError> {
        let mut filter = Vec::new();
        while let Some(field) = reader.next()? {
            if field.number == 1 {
                let decoded = entry(field.message()?, |value| Struct::decode(value, 0))?;
                filter.push(decoded);
            }
        }
        Ok(Self { filter })
    }
}

impl Encode for Metadata {
    fn fields(&self, sink: &mut impl Sink) {
        entries(1, &self.filter, sink);
    }
}
