//! Watches a file or folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::load;

/// Tells of changes until it is dropped.
#[derive(Debug)]
pub struct Changes {
    /// Absent where nothing is watched.
    watching: Option<Watching>,
}

#[derive(Debug)]
struct Watching {
    path: PathBuf,
    changes: UnboundedReceiver<()>,
    _watcher: RecommendedWatcher,
}

/// Editors and ConfigMap mounts change files in several steps: what comes within this time is one
/// change.
const SETTLE: Duration = Duration::from_millis(100);

/// Longest time that a change waits for things to settle.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches `path`. Of a file the folder is watched, so that it may be replaced; of a folder also the
/// one above it; of a link also where it leads to. Other files are of no interest.
///
/// # Errors
/// The system gives no watch.
pub(super) fn path(path: &Path) -> notify::Result<Changes> {
    Ok(Changes {
        watching: Some(Watching::start(path.to_owned())?),
    })
}

// === impl Watching ===

impl Watching {
    fn start(path: PathBuf) -> notify::Result<Self> {
        let (sender, changes) = unbounded_channel();
        let interest = Interest::of(&path);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            if event.as_ref().map_or(true, |event| interest.is_met(event)) {
                // Nobody listens any more when the process ends.
                let _ = sender.send(());
            }
        })?;
        let mut watched = false;
        let mut failure = None;
        for folder in folders(&path) {
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => watched = true,
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            // One that has just been removed is seen again by the folder above it.
            Some(error) if !watched => Err(error),
            _ => Ok(Self {
                path,
                changes,
                _watcher: watcher,
            }),
        }
    }
}

/// Which files of the watched folders matter.
#[derive(Debug)]
enum Interest {
    /// All documents of a folder, and the folder itself.
    Documents(Option<std::ffi::OsString>),
    /// A file, and what it leads to if it is a link.
    Names(Vec<std::ffi::OsString>),
}

// === impl Interest ===

impl Interest {
    fn of(path: &Path) -> Self {
        if path.is_dir() {
            return Self::Documents(path.file_name().map(OsStr::to_owned));
        }
        let target = path.canonicalize().ok();
        let names = [Some(path), target.as_deref()].into_iter().flatten();
        Self::Names(
            names
                .filter_map(Path::file_name)
                .map(OsStr::to_owned)
                .collect(),
        )
    }

    fn is_met(&self, event: &Event) -> bool {
        let change = match event.kind {
            EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
            _ => true,
        };
        change && (event.paths.is_empty() || event.paths.iter().any(|path| self.has(path)))
    }

    /// Links whose names begin with two dots are how ConfigMap mounts change all files at once.
    fn has(&self, path: &Path) -> bool {
        let Some(name) = path.file_name() else {
            return true;
        };
        name.to_string_lossy().starts_with("..")
            || match self {
                Self::Documents(own) => load::is_document(path) || own.as_deref() == Some(name),
                Self::Names(names) => names.iter().any(|known| known == name),
            }
    }
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let above = |path: &Path| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let target = path.canonicalize().ok();
    let mut folders = vec![above(path)];
    if path.is_dir() {
        folders.push(path.to_owned());
    }
    folders.extend(target.as_deref().map(above));
    let mut seen = Vec::new();
    folders.retain(|folder| {
        let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    folders
}

// === impl Changes ===

impl Changes {
    /// Never tells of a change.
    pub(super) const fn none() -> Self {
        Self { watching: None }
    }

    /// Waits for the next change and for things to settle after it.
    pub(super) async fn next(&mut self) {
        let Some(watching) = &mut self.watching else {
            return std::future::pending().await;
        };
        let changes = &mut watching.changes;
        if changes.recv().await.is_none() {
            return std::future::pending().await;
        }
        let settled = async {
            while let Ok(Some(())) = tokio::time::timeout(SETTLE, changes.recv()).await {}
        };
        // One that never settles is taken as it is now and then.
        let _ = tokio::time::timeout(PATIENCE, settled).await;
        // A link may lead elsewhere now, and a folder may be another one of the same name.
        match Watching::start(watching.path.clone()) {
            Ok(renewed) => *watching = renewed,
            Err(error) => tracing::warn!(%error, "the watch stays as it was"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, ModifyKind};

    fn event(path: &Path) -> Event {
        Event::new(EventKind::Modify(ModifyKind::Any)).add_path(path.to_owned())
    }

    #[test]
    fn other_files_of_the_folder_are_of_no_interest() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("gateway.yaml");
        std::fs::write(&config, "").unwrap();
        let interest = Interest::of(&config);
        assert!(interest.is_met(&event(&config)));
        assert!(
            interest.is_met(&event(&folder.path().join("..data"))),
            "a ConfigMap mount"
        );
        assert!(!interest.is_met(&event(&folder.path().join("access.log"))));
        assert!(!interest.is_met(&event(&folder.path().join("other.yaml"))));
    }

    #[test]
    fn all_documents_of_a_folder_are_of_interest() {
        let folder = tempfile::tempdir().unwrap();
        let interest = Interest::of(folder.path());
        let new = folder.path().join("new.yml");
        let created = Event::new(EventKind::Create(CreateKind::File)).add_path(new);
        assert!(interest.is_met(&created));
        assert!(!interest.is_met(&event(&folder.path().join("gateway.log"))));
        assert!(!interest.is_met(&event(&folder.path().join(".gateway.yaml.swp"))));
    }
}
