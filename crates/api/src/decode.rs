//! Text → value → type, with errors that teach: line, field, cause and what is accepted.

use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::Spanned;

/// Why a text is not the document it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{cause}{}", Line(*.line), Field(.field), Accepted(.accepted))]
pub struct ConfigError {
    /// Line in the text, from 1, where known.
    pub line: Option<u64>,
    /// Path of the field, such as `plugins[0].type`; empty for the whole document.
    pub field: String,
    /// What is wrong.
    pub cause: String,
    /// What would be accepted, where that can be said.
    pub accepted: Option<String>,
}

struct Line(Option<u64>);
struct Field<'a>(&'a str);
struct Accepted<'a>(&'a Option<String>);

/// Reads one document. Duplicate keys are errors and so are texts that expand out of proportion.
pub(crate) fn to_value(text: &str) -> Result<Value, ConfigError> {
    serde_saphyr::from_str_with_options::<Value>(text, options()).map_err(|error| {
        let error = error.without_snippet();
        let rendered = error.to_string();
        let cause = plain(rendered.lines().next().unwrap_or_default());
        ConfigError {
            line: error.location().map(|location| location.line()),
            field: String::new(),
            cause: format!("not valid YAML or JSON: {cause}"),
            accepted: None,
        }
    })
}

/// Only `true` and `false` are booleans: a label `on` or a namespace `n` is a string, as Kubernetes
/// reads it.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { strict_booleans: true }
}

/// The parser's message without its place, which is said elsewhere, and without its own options.
fn plain(message: &str) -> &str {
    if message.starts_with("multiple YAML documents") {
        return "there are several documents; accepted is one";
    }
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(message, _)| message);
    message
        .split_once(", set DuplicateKeyPolicy")
        .map_or(message, |(message, _)| message)
}

/// Reads `value` as `T`. The line of an error is looked up in `text`, where `at` is the path of
/// `value` in it.
pub(crate) fn to_type<T: DeserializeOwned>(
    value: Value,
    text: &str,
    at: &[Step],
) -> Result<T, ConfigError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut steps = at.to_vec();
        steps.extend(error.path().iter().filter_map(Step::of));
        let message = error.inner().to_string();
        describe(text, steps, &message)
    })
}

/// Reads a value that stands for itself, such as the parameters of a plugin.
///
/// # Errors
/// [`ConfigError`] with the field's path in `value`; it knows no line.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ConfigError> {
    to_type(value, "", &[]).map_err(|error| ConfigError {
        line: None,
        ..error
    })
}

/// An error at a field that the caller found itself.
pub(crate) fn fault(text: &str, steps: &[Step], cause: String) -> ConfigError {
    ConfigError {
        line: line_of(text, steps),
        field: render(steps),
        cause,
        accepted: None,
    }
}

/// Removes members that are `null`: Kubernetes reads them as absent. What is below the key `except`
/// stays as it is.
pub(crate) fn strip_nulls(value: &mut Value, except: Option<&str>) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            for (key, member) in members.iter_mut() {
                if Some(key.as_str()) != except {
                    strip_nulls(member, except);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip_nulls(item, except)),
        _ => {}
    }
}

/// The one of `known` that is most like `word`, if any is near.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    known
        .map(|name| {
            (
                strsim::damerau_levenshtein(&lower, &name.to_lowercase()),
                name,
            )
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= (word.len() / 3).max(1))
        .map(|(_, name)| name)
}

/// Whether `word` is `known` with one letter wrong, missing, added or swapped.
pub(crate) fn is_slip(word: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(&word.to_lowercase(), &known.to_lowercase()) == 1
}

/// One step of a path into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

// === impl Step ===

impl Step {
    fn of(segment: &serde_path_to_error::Segment) -> Option<Self> {
        match segment {
            serde_path_to_error::Segment::Seq { index } => Some(Self::Index(*index)),
            serde_path_to_error::Segment::Map { key } => Some(Self::Key(key.clone())),
            serde_path_to_error::Segment::Enum { .. } | serde_path_to_error::Segment::Unknown => {
                None
            }
        }
    }
}

fn render(steps: &[Step]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => {
                path.push('.');
                path.push_str(key);
            }
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

/// Turns serde's message for an unknown field into cause and hint.
fn describe(text: &str, mut steps: Vec<Step>, message: &str) -> ConfigError {
    let unknown = message
        .strip_prefix("unknown field `")
        .and_then(|rest| rest.split_once('`'));
    let Some((field, rest)) = unknown else {
        return fault(text, &steps, in_words(message));
    };
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    if steps.last() != Some(&Step::Key(field.to_owned())) {
        steps.push(Step::Key(field.to_owned()));
    }
    let hint = nearest(field, known.iter().copied())
        .map(|name| format!("; did you mean `{name}`"))
        .unwrap_or_default();
    ConfigError {
        line: line_of(text, &steps),
        field: render(&steps),
        cause: format!("unknown field `{field}`{hint}"),
        accepted: if known.is_empty() {
            rest.contains("no fields").then(|| "no fields".to_owned())
        } else {
            let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            Some(names.join(", "))
        },
    }
}

/// Names of number types as what they hold.
fn in_words(message: &str) -> String {
    [
        ("expected u16", "expected a whole number from 0 to 65535"),
        (
            "expected u32",
            "expected a whole number from 0 to 4294967295",
        ),
        ("expected i32", "expected a whole number"),
        ("expected f64", "expected a number"),
    ]
    .iter()
    .fold(message.to_owned(), |text, (from, to)| {
        text.replace(from, to)
    })
}

// === lines ===

/// A document with the lines of its keys and values. Built only once something is wrong.
enum Tree {
    Leaf,
    List(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

fn line_of(text: &str, steps: &[Step]) -> Option<u64> {
    let root: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options()).ok()?;
    let mut line = root.referenced.line();
    let mut tree = &root.value;
    for step in steps {
        let next = match (step, tree) {
            (Step::Key(key), Tree::Map(members)) => members
                .iter()
                .find(|(name, _)| name.value == *key)
                .map(|(name, member)| (name.referenced.line(), &member.value)),
            (Step::Index(index), Tree::List(items)) => items
                .get(*index)
                .map(|item| (item.referenced.line(), &item.value)),
            _ => None,
        };
        // What is missing is reported at what should hold it.
        let Some((at, below)) = next else { break };
        line = at;
        tree = below;
    }
    (line > 0).then_some(line)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Tree::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Map(members))
    }
}

// === display ===

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(line) => write!(f, "line {line}: "),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            "" => Ok(()),
            field => write!(f, "`{field}`: "),
        }
    }
}

impl std::fmt::Display for Accepted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(accepted) => write!(f, "; accepted: {accepted}"),
            None => Ok(()),
        }
    }
}
