//! Every example is one that `suimon check` has nothing to say against.

use std::fs;
use std::path::Path;

use suimon_testkit::gateway::run;

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

#[test]
fn every_example_is_accepted_without_a_fault_or_a_warning() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    let entries = fs::read_dir(&folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    // What else is in this folder is Envoy's, or a list of endpoints.
    paths.push(folder.join("envoy/epp.yaml"));
    for path in paths {
        let finished = run(BINARY, &["check", path.to_str().unwrap()]);
        let report = format!("{}\n{}{}", path.display(), finished.out, finished.err);
        assert!(finished.status.success(), "{report}");
        for word in ["error", "warning", ": not ", ", not "] {
            assert!(!finished.out.contains(word), "{report}");
        }
        seen += 1;
    }
    assert!(seen >= 5, "only {seen} examples were looked at");
}
