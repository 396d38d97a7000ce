//! What a server does with streams: the seam between connections and sessions.

use std::sync::Arc;
use std::time::Instant;

use suimon_picker::{Decision, EndpointPicker, PickError};

use crate::message::ProcessingRequest;
use crate::session::{Next, Observer, Replies, Session, Settings};

/// Makes the session of each stream.
pub trait Processor: Send + Sync + std::fmt::Debug + 'static {
    /// The session of a stream that has just been opened.
    fn session(&self) -> Box<dyn Exchange>;

    /// Longest body that a session takes, in bytes.
    fn body_limit(&self) -> usize;

    /// Whom to ask when a session says [`Next::Pick`]; `None` where none does.
    fn picker(&self) -> Option<Arc<dyn EndpointPicker>> {
        None
    }

    /// A connection of a proxy was opened.
    fn connection_opened(&self) {}

    /// A connection of a proxy was closed.
    fn connection_closed(&self) {}
}

/// One request as the proxy tells of it: messages in, replies out, without IO.
pub trait Exchange: Send + Sync + 'static {
    /// Takes a message that came at `now`.
    fn on(&mut self, message: ProcessingRequest, now: Instant, out: &mut Replies) -> Next;

    /// Takes that a message is longer than may be read.
    fn too_long(&mut self, limit: usize, out: &mut Replies) -> Next;

    /// Whether a request has begun.
    fn has_begun(&self) -> bool;

    /// Closes the account at `now`: the stream has ended, however that came.
    fn close(&mut self, now: Instant);

    /// Whether a decision is waited for.
    fn is_picking(&self) -> bool {
        false
    }

    /// Takes what the picker decided at `now`.
    fn picked(
        &mut self,
        _decided: Result<Decision, PickError>,
        _now: Instant,
        _out: &mut Replies,
    ) -> Next {
        Next::Wait
    }
}

/// Picks endpoints.
#[derive(Debug)]
pub(crate) struct Picks {
    pub(crate) picker: Arc<dyn EndpointPicker>,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) settings: Arc<Settings>,
}

/// A session that tells its observer.
struct Told {
    session: Session,
    observer: Arc<dyn Observer>,
}

// === impl Picks ===

impl Processor for Picks {
    fn session(&self) -> Box<dyn Exchange> {
        Box::new(Told {
            session: Session::new(Arc::clone(&self.settings)),
            observer: Arc::clone(&self.observer),
        })
    }

    fn body_limit(&self) -> usize {
        self.settings.body_limit
    }

    fn picker(&self) -> Option<Arc<dyn EndpointPicker>> {
        Some(Arc::clone(&self.picker))
    }

    fn connection_opened(&self) {
        self.observer.connection_opened();
    }

    fn connection_closed(&self) {
        self.observer.connection_closed();
    }
}

// === impl Told ===

impl Exchange for Told {
    fn on(&mut self, message: ProcessingRequest, now: Instant, out: &mut Replies) -> Next {
        self.session.on(message, now, out)
    }

    fn too_long(&mut self, limit: usize, out: &mut Replies) -> Next {
        self.session.too_long(limit, out)
    }

    fn has_begun(&self) -> bool {
        self.session.has_begun()
    }

    fn close(&mut self, now: Instant) {
        if let Some(end) = self.session.close(now) {
            self.observer.ended(&end);
        }
    }

    fn is_picking(&self) -> bool {
        self.session.is_picking()
    }

    fn picked(
        &mut self,
        decided: Result<Decision, PickError>,
        now: Instant,
        out: &mut Replies,
    ) -> Next {
        self.session.picked(decided, now, out)
    }
}
