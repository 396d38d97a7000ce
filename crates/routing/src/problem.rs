//! What a user should know about their objects.

use std::fmt;

use serde::Serialize;

/// Something about an object that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// Kind and name: "HTTPRoute `llm/chat`".
    pub object: String,
    /// Path of the field; empty for the whole object.
    pub field: String,
    /// What is wrong and, where that can be said, what would be accepted.
    pub message: String,
}

/// How bad a [`Problem`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something is passed over on purpose.
    Note,
    /// Something works differently from what may be expected.
    Warning,
    /// Part of the object does not work.
    Error,
}

// === impl Problem ===

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.told())
    }
}

impl Problem {
    /// Object, field and message, without the severity.
    #[must_use]
    pub fn told(&self) -> String {
        let field = if self.field.is_empty() {
            String::new()
        } else {
            format!("`{}`: ", self.field)
        };
        format!("{}: {field}{}", self.object, self.message)
    }
}

// === impl Severity ===

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}
