//! What the picker is asked.

use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use suimon_llm::{Fields, ScanError};
use suimon_picker::{Body, PickRequest, Subset, Unreadable};

/// A request whose head and body are complete, as far as they come.
#[derive(Debug)]
pub struct Question {
    pub(super) id: HeaderValue,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) scanned: Option<Result<Fields, ScanError>>,
    pub(super) subset: Option<Subset>,
    pub(super) received: Instant,
    pub(super) unreadable: Unreadable,
}

// === impl Question ===

impl Question {
    /// The same as the picker takes it.
    #[must_use]
    pub fn request(&self) -> PickRequest<'_> {
        PickRequest {
            id: self.id.to_str().unwrap_or_default(),
            route: "",
            method: &self.method,
            path: &self.path,
            query: self.query.as_deref(),
            headers: &self.headers,
            body: match &self.scanned {
                None => Body::Absent,
                Some(Ok(fields)) => Body::Fields(fields),
                Some(Err(error)) => Body::Invalid(error),
            },
            bytes: &self.body,
            unreadable: self.unreadable,
            received: self.received,
            subset: self.subset.as_ref(),
        }
    }
}
