use super::*;

fn map(name: &str, data: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: \
         {{inference.networking.k8s.io/bbr-managed: \"true\"}}\ndata: {data}\n"
    )
}

fn of(text: &str) -> Result<Loaded, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.yaml");
    std::fs::write(&file, text).unwrap();
    let shorten = |text: &String| text.replace(&folder.path().display().to_string(), "");
    load(&file).map_err(|error| LoadError {
        faults: error.faults.iter().map(shorten).collect(),
    })
}

#[test]
fn several_maps_share_a_base_model() {
    let text = [
        map("a", "{baseModel: llama, adapters: '[sql, chat]'}"),
        map("b", "{baseModel: llama, adapters: '[poem]'}"),
        map("c", "{baseModel: qwen}"),
        "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {}\n".to_owned(),
    ];
    let loaded = of(&text.concat()).unwrap();
    assert_eq!(loaded.warnings, [""; 0]);
    for (name, base) in [
        ("sql", "llama"),
        ("poem", "llama"),
        ("llama", "llama"),
        ("qwen", "qwen"),
    ] {
        assert_eq!(
            loaded.models.base(name).map(|base| &**base),
            Some(base),
            "{name}"
        );
    }
    assert_eq!(loaded.models.len(), 5);
}

#[test]
fn a_name_that_is_there_twice_is_told() {
    let text = [
        map("a", "{baseModel: llama, adapters: '[sql]'}"),
        map("b", "{baseModel: llama, adapters: '[sql]'}"),
    ];
    let loaded = of(&text.concat()).unwrap();
    let [warning] = &loaded.warnings[..] else {
        panic!("{:?}", loaded.warnings)
    };
    let want = "document 2: ConfigMap `default/b`: `data.adapters`: `sql` is there twice (";
    assert!(warning.contains(want), "{warning}");
    assert!(
        warning.ends_with("document 1: ConfigMap `default/a`)"),
        "{warning}"
    );
}

#[test]
fn a_name_of_two_base_models_is_a_fault_with_both_places() {
    let text = [
        map("a", "{baseModel: llama, adapters: '[sql]'}"),
        map("b", "{baseModel: qwen, adapters: '[sql, llama]'}"),
        map("b", "{baseModel: other}"),
        map("d", "{}"),
    ];
    let faults = of(&text.concat()).unwrap_err().faults;
    let first = "/m.yaml: document 1: ConfigMap `default/a`";
    let second = "/m.yaml: document 2: ConfigMap `default/b`";
    let accepted = "accepted: a name that no other model has";
    assert_eq!(
        faults,
        [
            format!(
                "{second}: `data.adapters`: `sql` already belongs to the base model `llama` ({first}); \
                 {accepted}"
            ),
            format!(
                "{second}: `data.adapters`: `llama` already belongs to the base model `llama` ({first}); \
                 {accepted}"
            ),
            format!("/m.yaml: document 3: ConfigMap `default/b` is there already: {second}"),
            "/m.yaml: document 4: ConfigMap `default/d`: `data.baseModel`: missing or empty baseModel in \
             configmap; accepted: the name of the base model"
                .to_owned(),
        ]
    );
}

#[test]
fn a_map_without_the_label_is_left_out_and_not_enough() {
    let other = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\ndata: {baseModel: x}\n";
    let faults = of(other).unwrap_err().faults;
    assert_eq!(
        faults,
        [
            "/m.yaml: document 1: ConfigMap `default/o` has no label \
             `inference.networking.k8s.io/bbr-managed: \"true\"`; it is left out",
            "/m.yaml: has no ConfigMap with the label `inference.networking.k8s.io/bbr-managed: \"true\"`",
        ]
    );
    let both = [other, &map("a", "{baseModel: llama}")].concat();
    assert_eq!(of(&both).unwrap().models.len(), 1);
}
