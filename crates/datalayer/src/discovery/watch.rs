//! Reads a discovery file again when it changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use suimon_picker::endpoint::EndpointSpec;

use super::{Listing, parse, read};
use crate::error::DiscoveryError;

/// A file is read when nothing has changed for this long: editors and mounts change it in steps.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// It is read after this long even if changes go on.
const PATIENCE: Duration = Duration::from_secs(1);

/// A watched file. The watching ends when this is dropped.
#[derive(Debug)]
pub struct FileWatch {
    /// Owns the sender that the reading thread waits on: without it the thread ends.
    _watcher: RecommendedWatcher,
}

/// What the reading thread knows.
struct Reader<F> {
    path: PathBuf,
    last: Vec<u8>,
    /// Text of the failure that was logged last.
    failure: Option<String>,
    changed: F,
}

/// Loads the file at `path`, and calls `changed` with all endpoints at each change of it. A file that
/// cannot be used is logged and leaves things as they are.
///
/// The folder is watched rather than the file, as a file that is replaced by a rename, or reached by a
/// symbolic link that is swapped, is another file afterwards.
///
/// # Errors
/// [`DiscoveryError`] if the file cannot be used now, or its folder cannot be watched.
pub fn watch<F>(path: &Path, changed: F) -> Result<(Listing, FileWatch), DiscoveryError>
where
    F: FnMut(Vec<EndpointSpec>) + Send + 'static,
{
    let (sender, events) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        if event.as_ref().map_or(true, |event| is_change(event.kind)) {
            // Nobody listens any more: the watch is being dropped.
            let _ = sender.send(());
        }
    })?;
    for folder in folders(path) {
        watcher.watch(&folder, RecursiveMode::NonRecursive)?;
    }
    // After the watch began, so that no change falls between.
    let last = read(path)?;
    let listing = parse(&last)?;
    let reader = Reader {
        path: path.to_owned(),
        last,
        failure: None,
        changed,
    };
    std::thread::Builder::new()
        .name(String::from("file-discovery"))
        .spawn(move || reader.run(&events))
        .map_err(DiscoveryError::Thread)?;
    Ok((listing, FileWatch { _watcher: watcher }))
}

// === impl Reader ===

impl<F: FnMut(Vec<EndpointSpec>)> Reader<F> {
    fn run(mut self, events: &Receiver<()>) {
        while events.recv().is_ok() {
            if !settle(events) {
                return;
            }
            match read(&self.path) {
                Ok(text) if text == self.last => self.failure = None,
                Ok(text) => self.take(text),
                Err(error) => self.fail(error.to_string()),
            }
        }
    }

    fn take(&mut self, text: Vec<u8>) {
        match parse(&text) {
            Ok(listing) => {
                log_errors(&self.path, &listing);
                self.failure = None;
                self.last = text;
                (self.changed)(listing.endpoints);
            }
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn fail(&mut self, failure: String) {
        if self.failure.as_ref() != Some(&failure) {
            tracing::warn!(file = %self.path.display(), error = %failure, "endpoints stay as they were");
            self.failure = Some(failure);
        }
    }
}

/// Logs each entry that was left out.
fn log_errors(path: &Path, listing: &Listing) {
    for error in &listing.errors {
        tracing::warn!(file = %path.display(), %error, "endpoint left out");
    }
}

/// Waits until no change comes for a while. `false`: none will ever come.
fn settle(events: &Receiver<()>) -> bool {
    let patience = Instant::now() + PATIENCE;
    while Instant::now() < patience {
        match events.recv_timeout(DEBOUNCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => return false,
        }
    }
    true
}

/// Whether the file may have other text now. Reading it is an event too, which must not lead to
/// reading it again.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// The folder of the path, and that of the file which it leads to by symbolic links.
fn folders(path: &Path) -> Vec<PathBuf> {
    let of = |path: &Path| match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut folders = vec![of(path)];
    if let Ok(real) = path.canonicalize() {
        let real = of(&real);
        if folders
            .iter()
            .all(|folder| folder.canonicalize().ok().as_ref() != Some(&real))
        {
            folders.push(real);
        }
    }
    folders
}
