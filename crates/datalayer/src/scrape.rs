//! Reads metrics pages of model servers on one thread of its own, apart from the request path.
//!
//! Endpoints are read in groups that share a timer: one wake of the thread reads up to
//! twenty pages, and yet a slow server holds up nobody, as each has its own task and
//! connection.

mod activity;
mod connection;
mod group;
mod source;
mod target;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use suimon_picker::endpoint::Endpoint;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

pub use self::activity::Activity;
pub use self::source::SourceConfig;
pub use self::target::FirstScrape;

use self::group::Group;
use self::target::{Progress, Target};
use crate::error::SourceError;

/// The scrape thread of the process. It ends when this is dropped.
#[derive(Debug)]
pub struct Scraper {
    commands: UnboundedSender<Command>,
    shared: Arc<Shared>,
    next_watch: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// The endpoints of one source. They are no longer scraped when this is dropped.
#[derive(Debug)]
pub struct WatchHandle {
    id: u64,
    commands: UnboundedSender<Command>,
    source: Arc<SourceConfig>,
    progress: Mutex<Vec<Arc<Progress>>>,
}

/// Scrapes of the whole process so far.
#[derive(Debug, Default)]
pub struct Counters {
    scrapes: AtomicU64,
    poll_errors: AtomicU64,
    extract_errors: AtomicU64,
}

/// What all scrapes share.
#[derive(Debug, Default)]
struct Shared {
    activity: Arc<Activity>,
    counters: Counters,
    /// Page buffers that are in no scrape's hands: as many as there are pages under way at once.
    pages: Mutex<Vec<Vec<u8>>>,
}

#[derive(Debug)]
enum Command {
    Watch {
        id: u64,
        source: Arc<SourceConfig>,
        endpoints: Vec<Arc<Progress>>,
    },
    Unwatch(u64),
    Stop,
}

/// The running tasks of one watch. Dropping the set ends them and closes their connections.
#[derive(Debug, Default)]
struct Watch {
    tasks: JoinSet<()>,
    groups: Vec<Arc<Group>>,
}

// === impl Scraper ===

impl Scraper {
    /// Starts the thread. It waits until something is watched.
    ///
    /// # Errors
    /// [`SourceError::Thread`] if the system gives no thread or no event queue.
    pub fn start() -> Result<Self, SourceError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(SourceError::Thread)?;
        let (commands, received) = unbounded_channel();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name(String::from("scrape"))
            .spawn(move || runtime.block_on(obey(received, of_thread)))
            .map_err(SourceError::Thread)?;
        Ok(Self {
            commands,
            shared,
            next_watch: AtomicU64::new(0),
            thread: Some(thread),
        })
    }

    /// Scrapes `endpoints` until the handle is dropped, each until it has left its pool.
    #[must_use]
    pub fn watch(&self, endpoints: &[Arc<Endpoint>], source: SourceConfig) -> WatchHandle {
        let handle = WatchHandle {
            id: self.next_watch.fetch_add(1, Ordering::Relaxed),
            commands: self.commands.clone(),
            source: Arc::new(source),
            progress: Mutex::default(),
        };
        handle.add(endpoints);
        handle
    }

    /// What the request path touches at each pick, for the adaptive rate.
    #[must_use]
    pub fn activity(&self) -> &Arc<Activity> {
        &self.shared.activity
    }

    /// Scrapes so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }
}

impl Drop for Scraper {
    fn drop(&mut self) {
        // Without a receiver the thread has ended already.
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

// === impl WatchHandle ===

impl WatchHandle {
    /// Scrapes `endpoints` too, the first time at once.
    pub fn add(&self, endpoints: &[Arc<Endpoint>]) {
        let endpoints: Vec<_> = endpoints.iter().map(Progress::of).collect();
        let mut progress = self.progress.lock();
        progress.retain(|progress| !progress.is_gone());
        progress.extend(endpoints.iter().cloned());
        drop(progress);
        // After the thread has ended nothing is scraped any more.
        let _ = self.commands.send(Command::Watch {
            id: self.id,
            source: Arc::clone(&self.source),
            endpoints,
        });
    }

    /// How many endpoints have neither answered nor been given up. `/ready` waits for 0.
    #[must_use]
    pub fn pending(&self) -> usize {
        let progress = self.progress.lock();
        let pending = progress.iter().filter(|progress| progress.is_pending());
        pending.count()
    }

    /// How the first scrape of the endpoint `id` went; `None` if it is not watched here.
    #[must_use]
    pub fn first_scrape(&self, id: &str) -> Option<FirstScrape> {
        let progress = self.progress.lock();
        let found = progress.iter().rev().find(|progress| progress.id() == id);
        found.map(|progress| progress.first())
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Unwatch(self.id));
    }
}

// === impl Counters ===

impl Counters {
    /// Scrapes begun.
    #[must_use]
    pub fn scrapes(&self) -> u64 {
        self.scrapes.load(Ordering::Relaxed)
    }

    /// Scrapes that got no page.
    #[must_use]
    pub fn poll_errors(&self) -> u64 {
        self.poll_errors.load(Ordering::Relaxed)
    }

    /// Pages that told no load.
    #[must_use]
    pub fn extract_errors(&self) -> u64 {
        self.extract_errors.load(Ordering::Relaxed)
    }
}

// === impl Watch ===

impl Watch {
    /// Puts one endpoint into a group that has room.
    fn add(&mut self, target: Target, source: &SourceConfig, shared: &Arc<Shared>) {
        self.groups.retain(|group| !group.is_closed());
        let with_room = self.groups.iter().find(|group| group.has_room());
        let group = match with_room.cloned() {
            Some(group) => group,
            None => {
                let group = Arc::new(Group::default());
                let pace = source.pace(&shared.activity);
                self.groups.push(Arc::clone(&group));
                self.tasks.spawn(Arc::clone(&group).run(pace));
                group
            }
        };
        self.tasks.spawn(target.run(Group::join(group)));
    }

    fn forget_ended(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }
}

async fn obey(mut commands: UnboundedReceiver<Command>, shared: Arc<Shared>) {
    let mut watches: HashMap<u64, Watch> = HashMap::new();
    while let Some(command) = commands.recv().await {
        match command {
            Command::Watch {
                id,
                source,
                endpoints,
            } => {
                let watch = watches.entry(id).or_default();
                watch.forget_ended();
                for progress in endpoints {
                    let target = Target::new(progress, Arc::clone(&source), Arc::clone(&shared));
                    watch.add(target, &source, &shared);
                }
            }
            Command::Unwatch(id) => drop(watches.remove(&id)),
            Command::Stop => break,
        }
    }
}
