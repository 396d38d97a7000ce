//! Which adapters a base model has: a ConfigMap with a label, as the peers' body-based routing reads it.

use serde_json::Value;

use crate::cluster::ConfigMap;
use crate::decode::{self, ConfigError, nearest};

/// Labels of such ConfigMaps; the value is `true`. The second is that of the peer's successor.
pub const LABELS: [&str; 2] = [
    "inference.networking.k8s.io/bbr-managed",
    "llm-d.ai/bbr-managed",
];

/// Keys of such ConfigMaps.
const KEYS: [&str; 2] = ["baseModel", "adapters"];

/// A base model and adapters of it. Others may name the same base model, to share a long list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BaseModel {
    /// Name, without blanks around it.
    pub name: String,
    /// Names of the adapters, without blanks around them; none is empty.
    pub adapters: Vec<String>,
}

/// Reads the base model in `map`; `None`: it has none of [`LABELS`].
///
/// # Errors
/// A key that does not exist, no base model, or adapters that are not a list of names.
pub fn base_model(map: &ConfigMap) -> Option<Result<BaseModel, ConfigError>> {
    let labels = &map.metadata.labels;
    let labelled = LABELS
        .iter()
        .any(|label| labels.get(*label).is_some_and(|value| value == "true"));
    labelled.then(|| read(map))
}

fn read(map: &ConfigMap) -> Result<BaseModel, ConfigError> {
    for key in map.data.keys() {
        if !KEYS.contains(&key.as_str()) {
            let near = nearest(key, KEYS.into_iter());
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`"));
            let cause = format!("unknown key `{key}`{near}");
            return Err(fault(key, cause, "`baseModel`, `adapters`"));
        }
    }
    let name = map.data.get("baseModel").map_or("", |name| name.trim());
    if name.is_empty() {
        let cause = "missing or empty baseModel in configmap".to_owned();
        return Err(fault("baseModel", cause, "the name of the base model"));
    }
    let adapters = map.data.get("adapters").map_or("", |text| text.as_str());
    Ok(BaseModel {
        name: name.to_owned(),
        adapters: names(adapters)?,
    })
}

fn names(text: &str) -> Result<Vec<String>, ConfigError> {
    const ACCEPTED: &str = "a YAML list of names";
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let value = decode::to_value(text).map_err(|error| {
        let line = error
            .line
            .map_or(String::new(), |line| format!("line {line} of it: "));
        fault("adapters", format!("{line}{}", error.cause), ACCEPTED)
    })?;
    let items = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        _ => return Err(fault("adapters", "not a list".to_owned(), ACCEPTED)),
    };
    let mut names = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let Value::String(name) = item else {
            let key = format!("adapters[{index}]");
            let cause = format!("`{item}` is not a string");
            return Err(fault(
                &key,
                cause,
                "a name, in quotes if it looks like a number",
            ));
        };
        if !name.trim().is_empty() {
            names.push(name.trim().to_owned());
        }
    }
    Ok(names)
}

fn fault(key: &str, cause: String, accepted: &str) -> ConfigError {
    ConfigError {
        line: None,
        field: format!("data.{key}"),
        cause,
        accepted: Some(accepted.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(label: (&str, &str), data: &[(&str, &str)]) -> ConfigMap {
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let mut map = ConfigMap::default();
        map.metadata.labels = [own(label)].into();
        map.data = data.iter().copied().map(own).collect();
        map
    }

    fn said(data: &[(&str, &str)]) -> String {
        let map = map((LABELS[0], "true"), data);
        base_model(&map).unwrap().unwrap_err().to_string()
    }

    #[test]
    fn names_are_trimmed_and_empty_ones_left_out() {
        for label in LABELS {
            let data = [
                ("baseModel", " llama\n"),
                ("adapters", "- sql\n- ' chat '\n- ''\n"),
            ];
            let read = base_model(&map((label, "true"), &data)).unwrap().unwrap();
            assert_eq!(read.name, "llama");
            assert_eq!(read.adapters, ["sql", "chat"]);
        }
        for empty in ["", "\n", "# none yet\n", "[]"] {
            let data = [("baseModel", "llama"), ("adapters", empty)];
            let read = base_model(&map((LABELS[0], "true"), &data)).unwrap();
            assert_eq!(read.unwrap().adapters, [""; 0], "{empty:?}");
        }
    }

    #[test]
    fn other_maps_are_of_no_interest() {
        for label in [(LABELS[0], "false"), ("other", "true")] {
            assert_eq!(base_model(&map(label, &[])), None);
        }
    }

    #[test]
    fn a_fault_says_where_and_what_is_accepted() {
        let base = ("baseModel", "llama");
        for (data, start) in [
            (
                vec![("baseModel", " ")],
                "`data.baseModel`: missing or empty baseModel in configmap; accepted: the name",
            ),
            (
                vec![base, ("adapter", "")],
                "`data.adapter`: unknown key `adapter`; did you mean `adapters`; accepted: `baseModel`",
            ),
            (
                vec![base, ("adapters", "sql")],
                "`data.adapters`: not a list; accepted: a YAML list of names",
            ),
            (
                vec![base, ("adapters", "- a\n- 7")],
                "`data.adapters[1]`: `7` is not a string; accepted: a name",
            ),
            (
                vec![base, ("adapters", "- a\n- [b")],
                "`data.adapters`: line ",
            ),
        ] {
            let said = said(&data);
            assert!(said.starts_with(start), "{said}");
        }
    }
}
