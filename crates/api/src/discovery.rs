//! The endpoint list that a `file-discovery` plugin reads.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::{self, ConfigError, Step};

/// Largest list that is read, in bytes.
pub const MAX_BYTES: usize = 1024 * 1024;

/// Endpoints by hand.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointList {
    /// Endpoints; `namespace/name` is unique.
    pub endpoints: Vec<ListedEndpoint>,
}

/// One endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListedEndpoint {
    /// Name.
    pub name: String,
    /// Namespace. Default: `default`.
    #[serde(default = "default_namespace")]
    pub namespace: String,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Port as text, 1 to 65535.
    pub port: String,
    /// Labels, for filters.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

// === impl ListedEndpoint ===

impl ListedEndpoint {
    /// The port as a number; `None` when the text is not one.
    pub fn port(&self) -> Option<u16> {
        self.port.parse().ok().filter(|port| *port > 0)
    }
}

/// Reads an endpoint list from YAML or JSON.
///
/// # Errors
/// When the text is too large, is not YAML, has a field that does not exist, an address that is not
/// IPv4, a port that is not a port, or a name twice.
pub fn parse_endpoint_list(text: &str) -> Result<EndpointList, ConfigError> {
    if text.len() > MAX_BYTES {
        return Err(ConfigError {
            line: None,
            field: String::new(),
            cause: format!("{} bytes are more than {MAX_BYTES}", text.len()),
            accepted: None,
        });
    }
    let mut value = decode::to_value(text)?;
    decode::strip_nulls(&mut value, None);
    let list: EndpointList = decode::to_type(value, text, &[])?;
    let mut seen = BTreeSet::new();
    for (index, endpoint) in list.endpoints.iter().enumerate() {
        let fail = |field: &str, cause: String| {
            let steps = [
                Step::Key("endpoints".to_owned()),
                Step::Index(index),
                Step::Key(field.to_owned()),
            ];
            Err(decode::fault(text, &steps, cause))
        };
        if endpoint.port().is_none() {
            let cause = format!("`{}` is not a port; accepted: 1 to 65535", endpoint.port);
            return fail("port", cause);
        }
        if endpoint.name.is_empty() {
            return fail("name", "the name is empty".to_owned());
        }
        if !seen.insert((&endpoint.namespace, &endpoint.name)) {
            let name = format!("{}/{}", endpoint.namespace, endpoint.name);
            return fail("name", format!("`{name}` is listed twice"));
        }
    }
    Ok(list)
}

fn default_namespace() -> String {
    "default".to_owned()
}
