//! A pool whose endpoints are listed in a file.

#![expect(clippy::unwrap_used, reason = "a test fails by it, in its helpers too")]

use std::fmt::Write as _;
use std::path::Path;

use suimon_testkit::{Gateway, Sims, assert_eventually, documents};

fn list(path: &Path, sims: &Sims, numbers: &[usize]) {
    let mut text = "endpoints:\n".to_owned();
    for number in numbers {
        let port = sims.addresses()[*number].port();
        writeln!(
            text,
            "- {{name: e{number}, address: 127.0.0.1, port: {port}}}"
        )
        .unwrap();
    }
    replace(path, &text);
}

fn replace(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, text).unwrap();
    std::fs::rename(draft, path).unwrap();
}

fn ids(gateway: &Gateway) -> Vec<String> {
    let endpoints = gateway.endpoints();
    let mut ids: Vec<_> = endpoints
        .iter()
        .map(|e| e["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

#[test]
fn endpoints_follow_the_file_and_survive_a_broken_one() {
    let sims = Sims::start(3);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("endpoints.yaml");
    list(&file, &sims, &[0, 1]);
    let picker = documents::STANDARD_PICKER.replace(
        "schedulingProfiles:",
        &format!(
            "- type: file-discovery\n  parameters: {{path: {}, watchFile: true}}\nschedulingProfiles:",
            file.display()
        ),
    ) + "dataLayer:\n  discovery: {pluginRef: file-discovery}\n";
    let yaml = [
        documents::GATEWAY,
        &documents::route_to_pool("models"),
        // The Pods of the pool do not count beside the file.
        &documents::pool(
            "models",
            &sims.addresses()[2..],
            &documents::picker_ref("picker"),
        ),
        &documents::picker("picker", &picker),
    ];
    let gateway = Gateway::start(env!("CARGO_BIN_EXE_suimon"), &yaml.concat());
    assert_eq!(ids(&gateway), ["default/e0", "default/e1"]);
    assert_eq!(gateway.chat("llama", &["hello"]).status(), 200);

    list(&file, &sims, &[1, 2]);
    assert_eventually("the list has changed", || {
        ids(&gateway) == ["default/e1", "default/e2"]
    });
    let before = sims[0].received().len();
    for number in 0..8 {
        assert_eq!(
            gateway
                .chat("llama", &[&format!("hello {number}")])
                .status(),
            200
        );
    }
    assert_eq!(sims[0].received().len(), before);

    replace(&file, "endpoints: [{name: e9, address: nowhere, port: 0}]");
    gateway.await_log("nowhere", 1);
    assert_eq!(ids(&gateway), ["default/e1", "default/e2"]);
    assert_eq!(gateway.chat("llama", &["still here"]).status(), 200);

    list(&file, &sims, &[0]);
    assert_eventually("the repaired list counts", || {
        ids(&gateway) == ["default/e0"]
    });
    assert_eq!(
        gateway.chat("llama", &["hello"]).need("x-inference-pod"),
        "sim-0"
    );
}
