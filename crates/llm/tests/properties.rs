//! Properties that hold for any body and any stream.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;
use suimon_llm::{ApiKind, Fields, ModelField, ResponseReader, splice};

/// Any JSON value, with strings that are dense in what must be escaped.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    let char = prop_oneof![
        Just('"'),
        Just('\\'),
        Just('{'),
        Just('}'),
        Just('['),
        Just(']'),
        Just(','),
        Just(':'),
        Just('\n'),
        Just('数'),
        any::<char>(),
    ];
    proptest::collection::vec(char, 0..80).prop_map(|chars| chars.into_iter().collect())
}

fn object() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("model".to_owned()),
        Just("stream".to_owned()),
        Just("max_tokens".to_owned()),
        Just("cache_salt".to_owned()),
        text(),
    ];
    proptest::collection::vec((name, value()), 0..8)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn written(object: &Value, pretty: bool) -> String {
    if pretty {
        serde_json::to_string_pretty(object).unwrap()
    } else {
        object.to_string()
    }
}

proptest! {
    #[test]
    fn a_scan_sees_what_a_parser_sees(object in object(), pretty in any::<bool>()) {
        let fields = Fields::scan(Bytes::from(written(&object, pretty))).unwrap();
        match (fields.model(), &object["model"]) {
            (ModelField::Missing { .. }, Value::Null) => {}
            (ModelField::Missing { .. }, Value::String(name)) => prop_assert_eq!(name, ""),
            (ModelField::Name { name, .. }, Value::String(want)) => prop_assert_eq!(name, want),
            (ModelField::NotAString, other) => {
                prop_assert!(!other.is_string() && !other.is_null());
            }
            (found, want) => prop_assert!(false, "{:?} {:?}", found, want),
        }
        prop_assert_eq!(fields.stream(), object["stream"] == true);
        let tokens = fields.max_tokens(ApiKind::Completions);
        prop_assert_eq!(tokens, object["max_tokens"].as_u64());
        let salt = fields.cache_salt();
        prop_assert_eq!(salt.as_deref(), object["cache_salt"].as_str());
    }

    #[test]
    fn a_splice_changes_the_model_alone(
        object in object(),
        pretty in any::<bool>(),
        model in text(),
    ) {
        let body = Bytes::from(written(&object, pretty));
        let fields = Fields::scan(body.clone()).unwrap();
        let range = match fields.model() {
            ModelField::Missing { insert } => insert,
            ModelField::Name { range, .. } => range,
            ModelField::NotAString => return Ok(()),
        };
        let spliced: Value = serde_json::from_slice(&splice(&body, &range, &model)).unwrap();
        let mut want = object;
        want["model"] = Value::from(model);
        prop_assert_eq!(spliced, want);
    }

    #[test]
    fn a_scan_survives_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let parsed = serde_json::from_slice::<serde_json::Map<String, Value>>(&bytes);
        let scanned = Fields::scan(Bytes::from(bytes));
        prop_assert!(scanned.is_ok() || parsed.is_err());
    }

    #[test]
    fn a_reader_without_a_name_to_restore_changes_nothing(
        chunks in proptest::collection::vec("(data: |\"usage\":|[{}\r\n\"a]){0,20}", 0..8),
        sse in any::<bool>(),
    ) {
        let mut reader = ResponseReader::new(ApiKind::ChatCompletions, sse, None);
        for chunk in chunks {
            let chunk = Bytes::from(chunk);
            prop_assert_eq!(reader.push(chunk.clone()), chunk);
        }
        prop_assert!(reader.finish().is_empty());
    }
}
