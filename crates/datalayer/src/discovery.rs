//! Endpoints from a file: `file-discovery`.

mod entry;
mod watch;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use suimon_picker::endpoint::EndpointSpec;

pub use self::watch::{FileWatch, watch};

use crate::error::{DiscoveryError, EntryError};

/// The largest file that is read, in bytes.
pub const FILE_CAP: u64 = 1 << 20;

/// What a file tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Endpoints of the good entries, in the order of the file.
    pub endpoints: Vec<EndpointSpec>,
    /// The entries that were left out.
    pub errors: Vec<EntryError>,
}

/// Other keys are let pass, as the peers do.
#[derive(Debug, Deserialize)]
struct Document {
    endpoints: Vec<Value>,
}

/// Reads the file at `path`.
///
/// # Errors
/// [`DiscoveryError`] if there is nothing usable in it; single bad entries are in the [`Listing`].
pub fn load(path: &Path) -> Result<Listing, DiscoveryError> {
    parse(&read(path)?)
}

/// Reads YAML or JSON.
///
/// # Errors
/// [`DiscoveryError`] if it is neither, has no list `endpoints`, or has entries and all are bad.
pub fn parse(text: &[u8]) -> Result<Listing, DiscoveryError> {
    let text =
        std::str::from_utf8(text).map_err(|error| DiscoveryError::Format(error.to_string()))?;
    // Only `true` and `false` are booleans: a namespace `n` is a string.
    let options = serde_saphyr::options! { strict_booleans: true };
    let document: Document = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| DiscoveryError::Format(error.to_string()))?;
    let mut listing = Listing::default();
    let mut ids = HashSet::new();
    for (index, value) in document.endpoints.iter().enumerate() {
        match entry::read(index, value, &ids) {
            Ok(endpoint) => {
                ids.insert(Arc::clone(&endpoint.id));
                listing.endpoints.push(endpoint);
            }
            Err(error) => listing.errors.push(error),
        }
    }
    match listing.errors.first() {
        Some(error) if listing.endpoints.is_empty() => {
            Err(DiscoveryError::NoUsableEntry(error.to_string()))
        }
        _ => Ok(listing),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, DiscoveryError> {
    let fail = |source| DiscoveryError::Read {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut text = Vec::new();
    file.take(FILE_CAP + 1)
        .read_to_end(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > FILE_CAP {
        return Err(DiscoveryError::TooLarge(FILE_CAP));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(listing: &Listing) -> Vec<String> {
        let addresses = listing
            .endpoints
            .iter()
            .map(|spec| spec.address.to_string());
        addresses.collect()
    }

    #[test]
    fn reads_yaml_and_json() {
        let yaml = b"endpoints:\n- name: a\n  address: 10.0.0.1\n  port: \"8000\"\n- name: b\n  namespace: n\n  address: \"fd00::1\"\n  port: 8001\n  labels:\n    llm-d.ai/engine-type: sglang\n    rank: 1\n";
        let json = br#"{"endpoints": [
            {"name": "a", "address": "10.0.0.1", "port": "8000"},
            {"name": "b", "namespace": "n", "address": "[fd00::1]", "port": 8001,
             "labels": {"llm-d.ai/engine-type": "sglang", "rank": "1"}}]}"#;
        let yaml = parse(yaml).unwrap();
        assert_eq!(yaml, parse(json).unwrap());
        assert_eq!(addresses(&yaml), ["10.0.0.1:8000", "[fd00::1]:8001"]);
        let ids: Vec<&str> = yaml.endpoints.iter().map(|spec| &*spec.id).collect();
        assert_eq!(ids, ["default/a", "n/b"]);
        assert_eq!(yaml.endpoints[1].labels["rank"], "1");
    }

    #[test]
    fn bad_entries_are_told_and_good_ones_used() {
        let text = br#"endpoints:
- {name: good, address: 10.0.0.1, port: 1}
- {address: 10.0.0.1, port: 1}
- {name: host, address: example.org, port: 1}
- {name: port, address: 10.0.0.1, port: 65536}
- {name: port, address: 10.0.0.1, port: 0}
- {name: port, address: 10.0.0.1, port: http}
- {name: port, address: 10.0.0.1}
- {name: labels, address: 10.0.0.1, port: 1, labels: [a]}
- {name: labels, address: 10.0.0.1, port: 1, labels: {a: [b]}}
- {name: good, address: 10.0.0.2, port: 2}
- text
- {name: also, address: 10.0.0.3, port: 3}
"#;
        let listing = parse(text).unwrap();
        assert_eq!(addresses(&listing), ["10.0.0.1:1", "10.0.0.3:3"]);
        let places: Vec<_> = listing
            .errors
            .iter()
            .map(|error| (error.index, error.field))
            .collect();
        let want = [
            (1, "name"),
            (2, "address"),
            (3, "port"),
            (4, "port"),
            (5, "port"),
            (6, "port"),
            (7, "labels"),
            (8, "labels"),
            (9, "name"),
            (10, "name"),
        ];
        assert_eq!(places, want);
        let text = listing.errors[1].to_string();
        assert!(
            text.contains("endpoints[2].address") && text.contains("example.org"),
            "{text}"
        );
    }

    #[test]
    fn a_file_with_nothing_usable_is_an_error() {
        for text in [
            "",
            "endpoint: []",
            "[",
            "endpoints: 1",
            "endpoints: [{name: a}]",
            "\u{0}",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\xff").is_err());
    }

    #[test]
    fn an_empty_list_is_no_error() {
        assert_eq!(parse(b"endpoints: []").unwrap(), Listing::default());
    }

    #[test]
    fn large_files_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'#'; FILE_CAP as usize + 1]).unwrap();
        assert!(matches!(
            load(file.path()),
            Err(DiscoveryError::TooLarge(FILE_CAP))
        ));
        assert!(matches!(
            load(Path::new("/absent")),
            Err(DiscoveryError::Read { .. })
        ));
    }
}
