//! Sessions for the server.

use std::sync::Arc;
use std::time::Instant;

use super::{Ended, Session, Settings};
use crate::message::ProcessingRequest;
use crate::server::{Exchange, Processor};
use crate::session::{Next, Replies};

/// Told of what happens, on the thread where it happens: be quick, never block.
pub trait Observer: Send + Sync + std::fmt::Debug + 'static {
    /// The stream of a request has ended. Not called for a request that left before anything was
    /// found out.
    fn ended(&self, end: Ended);
}

/// Body-based routing as what a server does with streams.
#[derive(Debug)]
pub struct Bbr {
    settings: Arc<Settings>,
    observer: Arc<dyn Observer>,
}

/// A session that tells its observer.
struct Told {
    session: Session,
    observer: Arc<dyn Observer>,
}

// === impl Bbr ===

impl Bbr {
    /// With sessions of these settings.
    #[must_use]
    pub fn new(settings: Arc<Settings>, observer: Arc<dyn Observer>) -> Self {
        Self { settings, observer }
    }
}

impl Processor for Bbr {
    fn session(&self) -> Box<dyn Exchange> {
        Box::new(Told {
            session: Session::new(Arc::clone(&self.settings)),
            observer: Arc::clone(&self.observer),
        })
    }

    fn body_limit(&self) -> usize {
        self.settings.body_limit
    }
}

// === impl Told ===

impl Exchange for Told {
    fn on(&mut self, message: ProcessingRequest, _now: Instant, out: &mut Replies) -> Next {
        self.session.on(message, out)
    }

    fn too_long(&mut self, limit: usize, out: &mut Replies) -> Next {
        self.session.too_long(limit, out)
    }

    fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    fn close(&mut self, _now: Instant) {
        if let Some(end) = self.session.ended() {
            self.observer.ended(end);
        }
    }
}
