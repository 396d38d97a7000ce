//! Text with one or more documents → objects.

use serde_json::Value;

use crate::decode::{self, ConfigError, Step};
use crate::object::{
    GATEWAY_GROUP, INFERENCE_GROUP, INFERENCE_X_GROUP, KINDS, LLM_D_GROUP, Object,
};

/// An object and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Name of the text, mostly a path.
    pub file: String,
    /// Number of the document in the text, from 1.
    pub document: usize,
    /// The object.
    pub object: Object,
}

/// Why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: document {document}{}: {error}", Subject(.object))]
pub struct DocumentError {
    /// Name of the text, mostly a path.
    pub file: String,
    /// Number of the document in the text, from 1.
    pub document: usize,
    /// Kind and name, where the document got that far: "HTTPRoute `llm/chat`".
    pub object: Option<String>,
    /// Line of the file, field, cause and what would be accepted.
    pub error: ConfigError,
}

struct Subject<'a>(&'a Option<String>);

/// Reads all documents of a YAML or JSON text; `kind: List` counts as its items. Each document is
/// on its own: one that is broken does not hide the others.
pub fn parse_documents(file: &str, text: &str) -> Vec<Result<Document, DocumentError>> {
    let mut results = Vec::new();
    for (index, chunk) in chunks(text).enumerate() {
        for result in parse_chunk(&chunk.text) {
            results.push(match result {
                Ok(object) => Ok(Document {
                    file: file.to_owned(),
                    document: index + 1,
                    object,
                }),
                Err((object, mut error)) => {
                    error.line = error.line.map(|line| line + chunk.first_line);
                    Err(DocumentError {
                        file: file.to_owned(),
                        document: index + 1,
                        object,
                        error,
                    })
                }
            });
        }
    }
    results
}

type Parsed = Result<Object, (Option<String>, ConfigError)>;

/// The text of one document.
struct Chunk {
    /// Lines of the file before it.
    first_line: u64,
    text: String,
}

/// Cuts at `---` and `...`. YAML allows neither at the start of a line inside any scalar, so that
/// lines are enough to look at. Documents without content are left out.
fn chunks(text: &str) -> impl Iterator<Item = Chunk> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut all = vec![Chunk {
        first_line: 0,
        text: String::new(),
    }];
    for (number, line) in (0..).zip(text.split_inclusive('\n')) {
        let rest = line.strip_prefix("---");
        let marker =
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if marker {
            all.push(Chunk {
                first_line: number,
                text: String::new(),
            });
        }
        if let Some(chunk) = all.last_mut() {
            let directive = line.starts_with('%') && chunk.is_empty();
            let end = line.trim_end() == "...";
            chunk
                .text
                .push_str(if directive || end { "\n" } else { line });
        }
    }
    all.into_iter().filter(|chunk| !chunk.is_empty())
}

// === impl Chunk ===

impl Chunk {
    fn is_empty(&self) -> bool {
        self.text.lines().all(|line| {
            let line = line.strip_prefix("---").unwrap_or(line).trim_start();
            line.is_empty() || line.starts_with('#')
        })
    }
}

fn parse_chunk(text: &str) -> Vec<Parsed> {
    let mut value = match decode::to_value(text) {
        Ok(value) => value,
        Err(error) => return vec![Err((None, error))],
    };
    let is_list = text_of(&value, "kind").is_some_and(|kind| kind.ends_with("List"));
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                let at = [Step::Key("items".to_owned()), Step::Index(index)];
                parse_object(text, item, &at)
            })
            .collect(),
        _ => vec![parse_object(text, value, &[])],
    }
}

fn parse_object(text: &str, mut value: Value, at: &[Step]) -> Parsed {
    let head = match Head::of(&value, text, at) {
        Ok(head) => head,
        Err(error) => return Err((None, error)),
    };
    decode::strip_nulls(&mut value, Some("parameters"));
    head.object(value, text, at)
        .map_err(|error| (Some(head.to_string()), error))
}

/// What says how to read the rest.
struct Head {
    api_version: String,
    kind: String,
    name: String,
}

// === impl Head ===

impl Head {
    fn of(value: &Value, text: &str, at: &[Step]) -> Result<Self, ConfigError> {
        let missing = |field: &str| {
            let cause = format!(
                "`{field}` is missing; accepted: a Kubernetes object with `apiVersion`, `kind` and `metadata`, or an EndpointPickerConfig with the first two"
            );
            decode::fault(text, at, cause)
        };
        let api_version = text_of(value, "apiVersion").ok_or_else(|| missing("apiVersion"))?;
        let kind = text_of(value, "kind").ok_or_else(|| missing("kind"))?;
        let metadata = value.get("metadata");
        let part = |field| metadata.and_then(|metadata| text_of(metadata, field));
        let name = match (part("namespace"), part("name").unwrap_or_default()) {
            (Some(namespace), name) => format!("{namespace}/{name}"),
            (None, name) => name.to_owned(),
        };
        Ok(Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name,
        })
    }

    fn object(&self, value: Value, text: &str, at: &[Step]) -> Result<Object, ConfigError> {
        macro_rules! read {
            ($variant:ident) => {
                decode::to_type(value, text, at)
                    .map(|object| Object::$variant(Box::new(object)))
                    .and_then(|object| named(object, text, at))
            };
        }
        let group = self
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        match (group, self.kind.as_str()) {
            (GATEWAY_GROUP, "GatewayClass") => read!(GatewayClass),
            (GATEWAY_GROUP, "Gateway") => read!(Gateway),
            (GATEWAY_GROUP, "HTTPRoute") => read!(HttpRoute),
            (GATEWAY_GROUP, "ReferenceGrant") => read!(ReferenceGrant),
            (INFERENCE_GROUP, "InferencePool") => read!(InferencePool),
            (LLM_D_GROUP | INFERENCE_X_GROUP, "InferenceObjective") => read!(InferenceObjective),
            (LLM_D_GROUP | INFERENCE_X_GROUP, "InferenceModelRewrite") => {
                read!(InferenceModelRewrite)
            }
            (LLM_D_GROUP | INFERENCE_X_GROUP, "EndpointPickerConfig") => {
                decode::to_type(value, text, at)
                    .map(|config| Object::EndpointPickerConfig(Box::new(config)))
            }
            ("", "Namespace") => read!(Namespace),
            ("", "Service") => read!(Service),
            ("discovery.k8s.io", "EndpointSlice") => read!(EndpointSlice),
            ("", "Pod") => read!(Pod),
            ("", "Secret") => read!(Secret),
            ("", "ConfigMap") => read!(ConfigMap),
            _ => self.unknown(text, at),
        }
    }

    /// A kind that is not used, unless it looks like one that is.
    fn unknown(&self, text: &str, at: &[Step]) -> Result<Object, ConfigError> {
        let own = [
            GATEWAY_GROUP,
            INFERENCE_GROUP,
            LLM_D_GROUP,
            INFERENCE_X_GROUP,
        ];
        let group = self.api_version.split('/').next().unwrap_or_default();
        // One slip of a finger: two would turn TCPRoute into HTTPRoute.
        let slipped = |known: &str| own.contains(&group) && decode::is_slip(&self.kind, known);
        let meant = KINDS.iter().find(|known| {
            **known != self.kind && (known.eq_ignore_ascii_case(&self.kind) || slipped(known))
        });
        if let Some(known) = meant {
            let mut steps = at.to_vec();
            steps.push(Step::Key("kind".to_owned()));
            let cause = format!("unknown kind `{}`; did you mean `{known}`", self.kind);
            return Err(decode::fault(text, &steps, cause));
        }
        Ok(Object::Unknown {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
        })
    }
}

impl std::fmt::Display for Head {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name.as_str() {
            "" => f.write_str(&self.kind),
            name => write!(f, "{} `{name}`", self.kind),
        }
    }
}

fn named(object: Object, text: &str, at: &[Step]) -> Result<Object, ConfigError> {
    if object.metadata().is_some_and(|meta| meta.name.is_empty()) {
        let mut steps = at.to_vec();
        steps.push(Step::Key("metadata".to_owned()));
        let cause = "`name` is missing".to_owned();
        return Err(decode::fault(text, &steps, cause));
    }
    Ok(object)
}

fn text_of<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

impl std::fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(object) => write!(f, ": {object}"),
            None => Ok(()),
        }
    }
}
