//! Documents of users: an error has a message, and one broken document does not stop the others.

use suimon_api::{parse_documents, parse_picker_config};

suimon_fuzz::fuzz_target!(picker_config, check);

fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = parse_picker_config(&text) {
        assert!(!error.to_string().is_empty());
    }
    for result in parse_documents("fuzz.yaml", &text) {
        match result {
            Ok(document) => assert!(document.document > 0),
            Err(error) => assert!(error.to_string().starts_with("fuzz.yaml: document ")),
        }
    }
}
