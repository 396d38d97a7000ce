//! Schemas and reference docs, written from the code.

mod picker;
mod tables;

use std::path::Path;

use anyhow::Context as _;
use suimon_picker::Registry;

/// Writes all generated files below `out`, each where the repository has it.
///
/// # Errors
/// A file cannot be written.
pub fn write(out: &Path, registry: &Registry) -> anyhow::Result<()> {
    for (path, text) in files(registry) {
        let path = out.join(path);
        let folder = path.parent().context("a generated file has a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        std::fs::write(&path, text).with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// Path and text of each generated file.
#[must_use]
pub fn files(registry: &Registry) -> Vec<(String, String)> {
    let mut files = vec![
        ("schema/picker.json".to_owned(), picker::schema(registry)),
        ("docs/reference/errors.md".to_owned(), tables::errors()),
        ("docs/reference/metrics.md".to_owned(), tables::metrics()),
        ("docs/reference/cli.md".to_owned(), tables::cli()),
        (
            "docs/reference/plugins.md".to_owned(),
            picker::table(registry),
        ),
    ];
    for descriptor in registry.iter() {
        let path = format!("docs/reference/plugins/{}.md", descriptor.name);
        files.push((path, picker::page(descriptor)));
    }
    files.push(("schema/gateway.json".to_owned(), tables::gateway_schema()));
    files
}
