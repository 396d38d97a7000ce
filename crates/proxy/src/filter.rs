//! Filters of a rule, in its order, and those of the backend that was chosen.

mod headers;
mod mirror;
mod redirect;
mod rewrite;

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use smallvec::SmallVec;
use suimon_routing::table::{Filter, Mirror};
use suimon_telemetry::Reason;

use crate::failure::Failure;

pub(crate) use headers::{edit, edit_response};
pub(crate) use mirror::send as send_mirrors;

/// What filters read and change.
#[derive(Debug)]
pub(crate) struct Filtering<'a> {
    pub(crate) parts: &'a mut Parts,
    /// Bytes of the path that the rule's prefix matched.
    pub(crate) prefix: usize,
    pub(crate) origin: Origin<'a>,
    /// Copies to send once the body is there.
    pub(crate) mirrors: &'a mut SmallVec<[Mirror; 1]>,
}

/// How the client reached the gateway: what a redirect takes where it says nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) tls: bool,
    pub(crate) host: &'a str,
    pub(crate) port: u16,
}

/// The answer of a redirect.
#[derive(Debug)]
pub(crate) struct Redirection {
    pub(crate) status: StatusCode,
    pub(crate) location: HeaderValue,
}

/// Runs `filters` in order. A redirect ends them and answers.
///
/// # Errors
/// A filter cannot be applied.
pub(crate) fn run(
    filters: &[Filter],
    cx: &mut Filtering<'_>,
) -> Result<Option<Redirection>, Failure> {
    for filter in filters {
        match filter {
            Filter::RequestHeaders(change) => edit(&mut cx.parts.headers, change),
            Filter::ResponseHeaders(_) => {}
            Filter::Redirect(to) => {
                return redirect::answer(to, cx.parts, cx.prefix, cx.origin).map(Some);
            }
            Filter::Rewrite(change) => rewrite::apply(change, cx.parts, cx.prefix)?,
            Filter::Mirror(copy) => cx.mirrors.push(copy.clone()),
            Filter::Invalid { why } => {
                tracing::debug!(%why, "filter");
                return Err(Failure::plain(Reason::FilterInvalid));
            }
        }
    }
    Ok(None)
}
