//! How a server is run.

use std::sync::Arc;
use std::time::Duration;

use crate::session::Settings;

/// Which services a server has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Services {
    /// External processing and health.
    #[default]
    All,
    /// External processing alone.
    Processing,
    /// Health alone.
    Health,
}

/// How to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Worker threads; `None`: one a core.
    pub workers: Option<usize>,
    /// Which services there are.
    pub services: Services,
    /// Settings of each stream that picks.
    pub settings: Arc<Settings>,
    /// Open connections at most; the next one waits until another has ended.
    pub connections: usize,
    /// Open streams of a connection at most.
    pub streams: u32,
    /// Time in which a connection has to begin to speak HTTP/2.
    pub handshake: Duration,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self {
            workers: None,
            services: Services::default(),
            settings: Arc::default(),
            // A proxy has one for each of its threads.
            connections: 10_000,
            // All requests of one thread of a proxy; those that stream stay open for minutes.
            streams: 10_000,
            handshake: Duration::from_secs(10),
        }
    }
}
