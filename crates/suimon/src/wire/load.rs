//! A file or folder of documents → world.

use std::path::{Path, PathBuf};

use suimon_api::parse_documents;
use suimon_routing::World;

/// Why a file or folder cannot be used: every fault of every file, in order.
#[derive(Debug, thiserror::Error)]
#[error("{}", faults.join("\n"))]
pub struct LoadError {
    /// One line each: file, document, field, cause and what is accepted.
    pub faults: Vec<String>,
}

/// Endings of files that are read from a folder.
const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Reads all documents of a file, or of the `.yaml`, `.yml` and `.json` files of a folder in the
/// order of their names.
///
/// # Errors
/// All faults at once; nothing is taken from files with faults.
pub fn world(path: &Path) -> Result<World, LoadError> {
    let (mut world, mut faults) = (World::default(), Vec::new());
    let files = files(path).map_err(|fault| LoadError {
        faults: vec![fault],
    })?;
    let mut objects = 0;
    for file in &files {
        match read(file) {
            Ok(text) => objects += add(&file.display().to_string(), &text, &mut world, &mut faults),
            Err(error) => faults.push(format!("{}: cannot be read: {error}", file.display())),
        }
    }
    if objects == 0 && faults.is_empty() {
        let fault = "has no documents; at least a Gateway and an HTTPRoute are needed";
        faults.push(format!("{}: {fault}", path.display()));
    }
    if faults.is_empty() {
        Ok(world)
    } else {
        Err(LoadError { faults })
    }
}

/// Adds the documents of one text to `world`, and what is wrong with them to `faults`.
pub fn add(name: &str, text: &str, world: &mut World, faults: &mut Vec<String>) -> usize {
    let documents = parse_documents(name, text);
    let count = documents.len();
    for document in documents {
        match document {
            Ok(document) => {
                let place = format!("{}: document {}", document.file, document.document);
                if let Err(error) = world.insert(document.object) {
                    faults.push(format!("{place}: {error}"));
                }
            }
            Err(error) => faults.push(error.to_string()),
        }
    }
    count
}

pub(super) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = path.display();
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("{shown}: cannot be read: {error}"))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).map_err(|error| format!("{shown}: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_document(path))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("{shown}: has no .yaml, .yml or .json file"));
    }
    Ok(files)
}

/// Largest file that is read.
const FILE_CAP: u64 = 64 << 20;

/// Only plain files: a pipe would make us wait, a device has no end.
pub(crate) fn read(file: &Path) -> std::io::Result<String> {
    let metadata = std::fs::metadata(file)?;
    if !metadata.is_file() {
        return Err(std::io::Error::other("is no plain file"));
    }
    if metadata.len() > FILE_CAP {
        return Err(std::io::Error::other("is larger than 64 MiB"));
    }
    std::fs::read_to_string(file)
}

/// Whether a file of a folder is read.
pub(super) fn is_document(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let ending = path.extension().and_then(|ending| ending.to_str());
    !hidden && ending.is_some_and(|ending| ENDINGS.contains(&ending))
}
