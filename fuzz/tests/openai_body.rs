//! Request bodies: what the scan finds is what a full parser finds, and a rewrite changes only the model.

use bytes::Bytes;
use serde_json::Value;
use suimon_llm::{ApiKind, Fields, InferenceRequest, ModelField, ScanError, splice};

suimon_fuzz::fuzz_target!(openai_body, check);

const KINDS: [ApiKind; 11] = [
    ApiKind::ChatCompletions,
    ApiKind::Completions,
    ApiKind::Embeddings,
    ApiKind::Responses,
    ApiKind::Conversations,
    ApiKind::Images,
    ApiKind::Messages,
    ApiKind::CountTokens,
    ApiKind::Generate,
    ApiKind::SglangGenerate,
    ApiKind::Opaque,
];

/// A name that needs escapes, so that a rewrite must write them.
const RENAMED: &str = "other \"model\"\\\n";

fn check(bytes: &[u8]) {
    let body = Bytes::copy_from_slice(bytes);
    let reference = serde_json::from_slice::<Value>(bytes)
        .ok()
        .filter(Value::is_object);
    let fields = match Fields::scan(body.clone()) {
        Ok(fields) => fields,
        Err(error) => {
            let accepted = reference.is_some() && error != ScanError::TooDeep;
            assert!(!accepted, "refused what serde_json reads: {error}");
            return;
        }
    };
    for kind in KINDS {
        if let Ok(request) = InferenceRequest::parse(kind, &fields) {
            assert_eq!(request.model, fields.model());
        }
    }
    let range = match fields.model() {
        ModelField::Missing { insert } => insert,
        ModelField::Name { name, range } => {
            if let Some(reference) = &reference {
                assert_eq!(reference.get("model").and_then(Value::as_str), Some(name));
            }
            range
        }
        ModelField::NotAString => return,
    };
    check_rewrite(&splice(&body, &range, RENAMED), reference);
}

fn check_rewrite(rewritten: &Bytes, reference: Option<Value>) {
    let model = Fields::scan(rewritten.clone()).map(|fields| match fields.model() {
        ModelField::Name { name, .. } => Some(name.to_owned()),
        _ => None,
    });
    assert_eq!(model, Ok(Some(RENAMED.to_owned())));
    if let Some(mut reference) = reference {
        reference["model"] = Value::from(RENAMED);
        assert_eq!(serde_json::from_slice(rewritten).ok(), Some(reference));
    }
}
