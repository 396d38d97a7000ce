//! `suimon check`: what people start from is accepted, mistakes are explained.

use std::path::Path;

use suimon_testkit::documents;
use suimon_testkit::gateway::{Finished, run};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");
const USER_DOCUMENTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/user-documents.yaml"
);

/// Documents without a fault; each mistake below changes one place.
const GOOD: &str = "\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: suimon
  listeners: [{name: http, protocol: HTTP, port: 8080}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: all}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: models}]}]
---
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: models}
spec:
  selector: {matchLabels: {app: m}}
  targetPorts: [{number: 8000}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: m}}
status: {podIP: 10.0.0.1}
";

/// What is replaced by what, and the line that says so; `@` is the file.
const MISTAKES: [[&str; 3]; 11] = [
    [
        "kind: HTTPRoute",
        "kind: HttpRoute",
        "error: @: document 2: HttpRoute `all`: line 9: `kind`: unknown kind `HttpRoute`; \
         did you mean `HTTPRoute`",
    ],
    [
        "targetPorts",
        "targetPort",
        "error: @: document 3: InferencePool `models`: line 20: `spec.targetPort`: unknown field \
         `targetPort`; did you mean `targetPorts`; accepted: `selector`, `targetPorts`, \
         `appProtocol`, `endpointPickerRef`",
    ],
    [
        "port: 8080",
        "port: eighty",
        "error: @: document 1: Gateway `gw`: line 6: `spec.listeners[0].port`: invalid type: \
         string \"eighty\", expected a whole number from 0 to 65535",
    ],
    [
        "port: 8080",
        "port: 0",
        "error: Gateway `default/gw`: `spec.listeners[0]`: port 0 is not supported; \
         accepted: 1 to 65535",
    ],
    [
        "labels: {app: m}",
        "labels: {app: m",
        "error: @: document 4: line 25: not valid YAML or JSON: while parsing a flow mapping, \
         did not find expected ',' or '}'",
    ],
    [
        "{name: gw}\nspec",
        "{}\nspec",
        "error: @: document 1: Gateway: line 3: `metadata`: `name` is missing",
    ],
    [
        "name: models}]",
        "name: model}]",
        "error: HTTPRoute `default/all`: `spec.rules[0].backendRefs[0]`: InferencePool \
         `default/model` is not found",
    ],
    [
        "matchLabels: {app: m}",
        "matchLabels: {}",
        "error: InferencePool `default/models`: `spec.selector.matchLabels`: the selector is empty; \
         accepted: one label or more",
    ],
    [
        "name: models}]",
        "name: models, weight: -1}]",
        "error: @: document 2: HTTPRoute `all`: line 13: `spec.rules[0].backendRefs[0].weight`: \
         invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ],
    [
        "rules: [{",
        "rules: [{filters: [{type: RequestRedirect}], ",
        "error: HTTPRoute `default/all`: `spec.rules[0].filters[0]`: filter `RequestRedirect` \
         cannot be used together with `backendRefs`",
    ],
    [
        "port: 8080}",
        "port: 8080}, {name: b, protocol: HTTP, port: 8080}",
        "error: Gateway `default/gw`: `spec.listeners[1]`: listener `http` has the same hostname \
         on port 8080",
    ],
];

/// The same for a picker configuration.
const PICKER_MISTAKES: [[&str; 3]; 6] = [
    [
        "- type: queue-scorer",
        "- type: queue-scorrer",
        "error: @: plugins[0]: plugin type `queue-scorrer` is not registered; did you mean \
         `queue-scorer`?",
    ],
    [
        "weight: 3",
        "weight: much",
        "error: @: line 14: `schedulingProfiles[0].plugins[2].weight`: invalid type: string \
         \"much\", expected a number",
    ],
    [
        "schedulingProfiles:",
        "schedulingProfile:",
        "error: @: line 9: `schedulingProfile`: unknown field `schedulingProfile`; did you mean \
         `schedulingProfiles`; accepted: `apiVersion`, `kind`, `featureGates`, `plugins`, \
         `schedulingProfiles`, `dataLayer`, `flowControl`, `requestHandler`, `saturationDetector`, \
         `parser`",
    ],
    [
        "pluginRef: queue-scorer",
        "pluginRef: nothing",
        "error: @: schedulingProfiles[default].plugins: plugin `nothing` is not defined; add it to \
         `plugins`",
    ],
    [
        "- type: core-metrics-extractor",
        "- type: core-metrics-extractor\n- type: utilization-detector\n  parameters: {queueDepthTreshold: 5}",
        "error: @: plugin `utilization-detector` (type `utilization-detector`): parameters: \
         `queueDepthTreshold`: unknown field `queueDepthTreshold`; did you mean \
         `queueDepthThreshold`; accepted: `queueDepthThreshold`, `kvCacheUtilThreshold`, \
         `metricsStalenessThreshold`, `headroom`",
    ],
    [
        "- type: core-metrics-extractor",
        "- type: core-metrics-extractor\n- type: utilization-detector\n  parameters: {queueDepthThreshold: 0}",
        "error: @: plugin `utilization-detector` (type `utilization-detector`): parameter \
         `queueDepthThreshold`: must be above 0, got 0",
    ],
];

fn check(path: &Path, flags: &[&str]) -> Finished {
    let path = path.display().to_string();
    let arguments: Vec<&str> = ["check", &path]
        .into_iter()
        .chain(flags.iter().copied())
        .collect();
    run(BINARY, &arguments)
}

#[test]
fn what_people_start_from_is_accepted_unedited() {
    let checked = check(Path::new(USER_DOCUMENTS), &[]);
    assert!(checked.status.success(), "{}{}", checked.out, checked.err);
    assert!(!checked.out.contains("error:"), "{}", checked.out);
    assert!(
        checked
            .out
            .ends_with("0 Gateways, 2 HTTPRoutes, 1 InferencePool, 1 picker configuration, 0 sockets to listen on\n"),
        "{}",
        checked.out
    );
}

#[test]
fn good_documents_have_nothing_to_complain_about() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("g.yaml"), GOOD).unwrap();
    let checked = check(folder.path(), &[]);
    assert!(checked.status.success(), "{}", checked.out);
    let want = "\
Gateway default/gw: Accepted, Programmed, ResolvedRefs
  listener http: 1 routes, Accepted, Programmed, ResolvedRefs
HTTPRoute default/all at gw: Accepted, ResolvedRefs
InferencePool default/models at gw: Accepted, ResolvedRefs
1 Gateway, 1 HTTPRoute, 1 InferencePool, 1 picker configuration, 1 socket to listen on
";
    assert_eq!(checked.out, want);
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("documents.yaml");
    let documents = MISTAKES.iter().map(|mistake| (GOOD, mistake));
    let pickers = PICKER_MISTAKES
        .iter()
        .map(|mistake| (documents::STANDARD_PICKER, mistake));
    for (good, [from, to, said]) in documents.chain(pickers) {
        assert!(good.contains(from), "{from}");
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        let checked = check(&file, &[]);
        let said = said.replace('@', &file.display().to_string());
        assert_eq!(checked.status.code(), Some(1), "{to}: {}", checked.out);
        assert!(
            checked.out.lines().any(|line| line == said),
            "{said}\nis not in\n{}",
            checked.out
        );
    }
}

#[test]
fn all_faults_of_all_files_are_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.yaml"),
        GOOD.replace("port: 8080", "prt: 1"),
    )
    .unwrap();
    std::fs::write(folder.path().join("b.yml"), "kind: Pod\n---\n[1]\n").unwrap();
    std::fs::write(folder.path().join("c.json"), "{").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "not read").unwrap();
    let checked = check(folder.path(), &[]);
    assert_eq!(checked.status.code(), Some(1));
    for part in [
        "a.yaml: document 1",
        "b.yml: document 1",
        "b.yml: document 2",
        "c.json: document 1",
    ] {
        assert!(
            checked.out.contains(part),
            "{part} is not in\n{}",
            checked.out
        );
    }
}

#[test]
fn the_effective_configuration_gives_reasons_and_is_one_itself() {
    let checked = check(Path::new(USER_DOCUMENTS), &["--effective"]);
    assert!(checked.status.success(), "{}", checked.out);
    let lines: Vec<_> = checked.out.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "---",
            "# ConfigMap default/vllm-llama32-1b-epp/default-plugins.yaml"
        ]
    );
    let implied = [
        "- type: approx-prefix-cache-producer  # implied because `prefix-cache-scorer` needs \
         PrefixCacheMatchInfo from it",
        "- type: max-score-picker  # implied because no picker is configured",
        "- type: utilization-detector  # implied because no saturation detector is configured",
    ];
    for line in implied {
        assert!(lines.contains(&line), "{line}\nis not in\n{}", checked.out);
    }
    // What the user wrote is not said to be implied.
    assert!(lines.contains(&"- type: queue-scorer"), "{}", checked.out);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("effective.yaml");
    std::fs::write(&file, &checked.out).unwrap();
    let again = check(&file, &["--effective"]);
    assert!(again.status.success(), "{}", again.out);
    let plain = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| !line.starts_with(['-', '#']) || line.starts_with("- "));
        lines
            .map(|line| {
                line.split("  # implied")
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(plain(&again.out), plain(&checked.out));
    // Sources are always written out, and the line that says so always has its reason.
    let implied: Vec<_> = again
        .out
        .lines()
        .filter(|line| line.contains("# implied"))
        .collect();
    let sources = "  injectDefaults: false  # implied because every source is written out below";
    assert_eq!(implied, [sources], "{}", again.out);
}

#[test]
fn two_configurations_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (
        folder.path().join("old.yaml"),
        folder.path().join("new.yaml"),
    );
    std::fs::write(&old, documents::STANDARD_PICKER).unwrap();
    std::fs::write(
        &new,
        documents::STANDARD_PICKER.replace("weight: 3", "weight: 5"),
    )
    .unwrap();
    let old = old.display().to_string();
    let checked = check(&new, &["--diff", &old]);
    assert!(checked.status.success());
    let changes: Vec<_> = checked
        .out
        .lines()
        .filter(|line| line.starts_with(['-', '+']))
        .collect();
    let titles = [format!("-# {old}"), format!("+# {}", new.display())];
    let changes: Vec<_> = changes
        .into_iter()
        .filter(|line| !titles.iter().any(|t| t == line))
        .collect();
    assert_eq!(
        changes,
        ["--- old", "+++ new", "-    weight: 3", "+    weight: 5"]
    );
    let same = check(Path::new(&old), &["--diff", &old]);
    assert_eq!(same.out, "no difference\n");
}
