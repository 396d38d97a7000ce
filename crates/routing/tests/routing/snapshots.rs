//! Whole worlds: table, pools, statuses and problems.

use crate::{render, translated};

fn check(name: &str, text: &str) {
    let translation = translated(text);
    let problems: Vec<String> = translation
        .problems
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(format!("{name}.table"), render::table(&translation.table));
    insta::assert_snapshot!(format!("{name}.problems"), problems.join("\n"));
    insta::assert_json_snapshot!(format!("{name}.statuses"), translation.statuses);
    insta::assert_debug_snapshot!(format!("{name}.pools"), translation.pools);
}

#[test]
fn a_pool_with_a_picker_inside() {
    check("inference", include_str!("../data/inference.yaml"));
}

#[test]
fn listeners_services_and_filters() {
    check("gateway", include_str!("../data/gateway.yaml"));
}

#[test]
fn documents_that_people_start_from() {
    check(
        "start",
        include_str!("../../../api/tests/data/user-documents.yaml"),
    );
}
