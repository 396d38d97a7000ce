//! Acts on a decision before the request is sent.

use crate::view::Scheduled;

/// Acts on a decision before the request is sent: to remember it, or to add headers.
///
/// Runs in the order of the configuration, on every scheduled request, on the request's own thread.
/// It must not block.
pub trait PreRequest: Send + Sync {
    /// Acts on the decision.
    fn pre_request(&self, scheduled: &mut Scheduled<'_>);
}
