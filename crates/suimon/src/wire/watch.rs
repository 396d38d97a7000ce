//! Watches a file or folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Tells of changes until it is dropped.
#[derive(Debug)]
pub struct Changes {
    /// Absent where nothing is watched.
    watching: Option<(UnboundedReceiver<()>, RecommendedWatcher)>,
}

/// Editors and ConfigMap mounts change files in several steps: what comes within this time is one
/// change.
const SETTLE: Duration = Duration::from_millis(100);

/// Watches `path`. Of a file the folder is watched, so that it may be replaced; of a link also the
/// folder that it leads to.
///
/// # Errors
/// The system gives no watch.
pub(super) fn path(path: &Path) -> notify::Result<Changes> {
    let (sender, receiver) = unbounded_channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let of_interest = match event {
            Ok(event) => !matches!(event.kind, EventKind::Access(_)),
            Err(_) => true,
        };
        if of_interest {
            // Nobody listens any more when the process ends.
            let _ = sender.send(());
        }
    })?;
    for folder in folders(path) {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    Ok(Changes {
        watching: Some((receiver, watcher)),
    })
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let folder = |path: &Path| {
        if path.is_dir() {
            return path.to_owned();
        }
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        }
    };
    let mut folders = vec![folder(path)];
    if let Ok(target) = path.canonicalize() {
        let target = folder(&target);
        if folders
            .first()
            .and_then(|first| first.canonicalize().ok())
            .as_ref()
            != Some(&target)
        {
            folders.push(target);
        }
    }
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
        let Some((changes, _)) = &mut self.watching else {
            return std::future::pending().await;
        };
        if changes.recv().await.is_none() {
            return std::future::pending().await;
        }
        while let Ok(Some(())) = tokio::time::timeout(SETTLE, changes.recv()).await {}
    }
}
