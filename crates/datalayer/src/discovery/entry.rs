//! One entry of a discovery file.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde_json::{Map, Value};
use suimon_picker::endpoint::EndpointSpec;

use crate::error::EntryError;

const NAME: &str = "text, unique together with `namespace`";
const NAMESPACE: &str = "text, by default `default`";
const ADDRESS: &str = "an IPv4 or IPv6 address";
const PORT: &str = "1 to 65535, as a number or as text";
const LABELS: &str = "a map of text to text";

/// The endpoint that `value` describes, if its id is not one of the `earlier` ones.
pub(super) fn read(
    index: usize,
    value: &Value,
    earlier: &HashSet<Arc<str>>,
) -> Result<EndpointSpec, EntryError> {
    let fail = |field, accepted, problem: &str| EntryError {
        index,
        field,
        problem: problem.to_owned(),
        accepted,
    };
    let entry = value.as_object();
    let entry =
        entry.ok_or_else(|| fail("name", NAME, "the entry is no map, and so has no name"))?;
    let name = text(entry, "name").map_err(|problem| fail("name", NAME, &problem))?;
    let name = name.filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| fail("name", NAME, "is absent or empty"))?;
    let namespace =
        text(entry, "namespace").map_err(|problem| fail("namespace", NAMESPACE, &problem))?;
    let namespace = namespace.filter(|namespace| !namespace.is_empty());
    let namespace = namespace.as_deref().unwrap_or("default");
    let ip = address(entry).map_err(|problem| fail("address", ADDRESS, &problem))?;
    let port = port(entry).map_err(|problem| fail("port", PORT, &problem))?;
    let labels = labels(entry).map_err(|problem| fail("labels", LABELS, &problem))?;
    let id = format!("{namespace}/{name}");
    if earlier.contains(id.as_str()) {
        let problem = format!("`{id}` is taken by an earlier entry");
        return Err(fail("name", NAME, &problem));
    }
    Ok(EndpointSpec {
        id: Arc::from(id),
        address: SocketAddr::new(ip, port),
        labels,
    })
}

fn address(entry: &Map<String, Value>) -> Result<IpAddr, String> {
    let text = text(entry, "address")?.ok_or("is absent")?;
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let parsed = bare.unwrap_or(&text).parse();
    parsed.map_err(|_| format!("`{text}` is no IP address"))
}

fn port(entry: &Map<String, Value>) -> Result<u16, String> {
    let text = text(entry, "port")?.ok_or("is absent")?;
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is no port")),
        Ok(port) => Ok(port),
    }
}

fn labels(entry: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let Some(value) = entry.get("labels").filter(|value| !value.is_null()) else {
        return Ok(BTreeMap::new());
    };
    let map = value
        .as_object()
        .ok_or_else(|| format!("`{value}` is no map"))?;
    let pairs = map.keys().map(|key| {
        let value = text(map, key).map_err(|problem| format!("{key}: {problem}"))?;
        Ok::<_, String>((key.clone(), value.unwrap_or_default()))
    });
    pairs.collect()
}

/// The value of `key` as text: YAML takes an unquoted `1` or `true` for something else.
fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
        Some(value) => Err(format!("`{value}` is no text")),
    }
}
