//! Puts another model name into a body without touching the rest.

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};

use crate::walk::is_blank;

/// A copy of `body` whose model is `model`; all other bytes are the same.
///
/// `range` comes from [`ModelField`](crate::ModelField): the value to replace, quotes included, or
/// an empty range behind the opening brace where a missing field is put in.
#[must_use]
pub fn splice(body: &Bytes, range: &Range<usize>, model: &str) -> Bytes {
    let start = range.start.min(body.len());
    let end = range.end.clamp(start, body.len());
    let (head, tail) = (&body[..start], &body[end..]);
    let value = json_string(model);
    let (name, comma) = if range.is_empty() {
        let first = tail.iter().find(|byte| !is_blank(**byte));
        let comma: &[u8] = if first == Some(&b'}') { b"" } else { b"," };
        (b"\"model\":".as_slice(), comma)
    } else {
        (b"".as_slice(), b"".as_slice())
    };
    let parts = [head, name, value.as_bytes(), comma, tail];
    let mut out = BytesMut::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        out.put_slice(part);
    }
    out.freeze()
}

/// `text` as a JSON string with its quotes.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fields, ModelField};

    fn renamed(body: &'static str, model: &str) -> String {
        let body = Bytes::from_static(body.as_bytes());
        let fields = Fields::scan(body.clone()).unwrap();
        let range = match fields.model() {
            ModelField::Missing { insert } => insert,
            ModelField::Name { range, .. } => range,
            ModelField::NotAString => panic!("not a string"),
        };
        String::from_utf8(splice(&body, &range, model).to_vec()).unwrap()
    }

    #[test]
    fn replaces_the_name_alone() {
        assert_eq!(
            renamed(r#"{ "a":1.50, "model" : "old" ,"b":[ ]}"#, "new\"\n"),
            r#"{ "a":1.50, "model" : "new\"\n" ,"b":[ ]}"#
        );
    }

    #[test]
    fn supplies_a_missing_name() {
        assert_eq!(renamed("{}", "m"), r#"{"model":"m"}"#);
        assert_eq!(renamed(" { } ", "m"), r#" {"model":"m" } "#);
        assert_eq!(renamed(r#"{"a":1}"#, "m"), r#"{"model":"m","a":1}"#);
        assert_eq!(renamed(r#"{"model":null}"#, "m"), r#"{"model":"m"}"#);
        assert_eq!(renamed(r#"{"model":""}"#, "m"), r#"{"model":"m"}"#);
    }

    #[test]
    fn replaces_the_duplicate_that_counts() {
        assert_eq!(
            renamed(r#"{"model":"a","model":"b"}"#, "m"),
            r#"{"model":"a","model":"m"}"#
        );
    }
}
