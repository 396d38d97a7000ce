//! The body of a request as it comes in, and the model in it.

use bytes::{Bytes, BytesMut};
use http::HeaderValue;
use suimon_llm::{Field, Fields, ModelField, ScanError, Share};
use suimon_telemetry::Reason;

use super::base_models::BaseModels;
use super::settings::Settings;
use super::{BASE_MODEL, Found, MODEL};
use crate::message::HeaderMutation;
use crate::session::refusal::Refusal;

/// As much as is here.
#[derive(Debug)]
pub(super) struct Body {
    /// The first chunk, which is mostly all of it.
    first: Bytes,
    /// All of it, once there is a second one.
    joined: BytesMut,
    size: usize,
    share: Share,
}

/// A name that can be a header's value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Model(String);

/// Why a body names no model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Nameless {
    #[error("the request has no body")]
    NoBody,
    #[error("the request body has no `model`")]
    NotFound,
    #[error("`model` of the request body is empty")]
    Empty,
    #[error("`model` of the request body is not a string")]
    NotAString,
    #[error("`model` of the request body cannot be the value of a header")]
    NotAValue,
    #[error("failed to parse request body: {0}")]
    Unreadable(#[from] ScanError),
}

/// Longest name that goes into a header, in bytes: a proxy has 60 KiB for all headers.
const LONGEST: usize = 4 << 10;

// === impl Body ===

impl Body {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            first: Bytes::new(),
            joined: BytesMut::new(),
            size: 0,
            share: settings.budget.share(),
        }
    }

    /// Adds a chunk.
    pub(super) fn push(&mut self, chunk: Bytes, settings: &Settings) -> Result<(), Refusal> {
        let size = self.size.saturating_add(chunk.len());
        if size > settings.body_limit {
            return Err(Refusal::too_large(settings.body_limit));
        }
        self.share.grow_to(size)?;
        if self.size == 0 {
            self.first = chunk;
        } else {
            if self.joined.is_empty() {
                self.joined
                    .extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.joined.extend_from_slice(&chunk);
        }
        self.size = size;
        Ok(())
    }

    /// The whole, and its share of what may be in memory.
    pub(super) fn finish(self) -> (Bytes, Share) {
        let whole = if self.joined.is_empty() {
            self.first
        } else {
            self.joined.freeze()
        };
        (whole, self.share)
    }
}

// === impl Model ===

impl Model {
    /// The model that `body` names.
    pub(super) fn read(body: Bytes) -> Result<Self, Nameless> {
        if body.is_empty() {
            return Err(Nameless::NoBody);
        }
        let fields = Fields::scan(body)?;
        match fields.model() {
            ModelField::Missing { .. } if fields.raw(Field::Model).is_some() => {
                Err(Nameless::Empty)
            }
            ModelField::Missing { .. } => Err(Nameless::NotFound),
            ModelField::NotAString => Err(Nameless::NotAString),
            ModelField::Name { name, .. }
                if name.len() > LONGEST || HeaderValue::from_str(name).is_err() =>
            {
                Err(Nameless::NotAValue)
            }
            ModelField::Name { name, .. } => Ok(Self(name.to_owned())),
        }
    }

    /// Sets the headers.
    pub(super) fn set(self, models: &BaseModels, headers: &mut HeaderMutation) {
        let base = models.base(&self.0).map_or("", |base| base);
        headers.set(BASE_MODEL, base.to_owned());
        headers.set(MODEL, self.0);
    }
}

// === impl Nameless ===

impl Nameless {
    pub(super) const fn found(&self) -> Found {
        match self {
            Self::NoBody => Found::Nothing,
            Self::NotFound => Found::NoModel,
            Self::Empty => Found::EmptyModel,
            Self::NotAString | Self::NotAValue | Self::Unreadable(_) => Found::Unreadable,
        }
    }

    /// What a client is told that has to name one. Without a body there is nothing that could.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let reason = match self {
            Self::NoBody => return None,
            Self::NotFound | Self::Empty => Reason::ModelMissing,
            Self::NotAString | Self::NotAValue | Self::Unreadable(_) => Reason::BadRequest,
        };
        Some(Refusal::new(reason, in_peers_words(self)))
    }
}

// === impl Refusal ===

impl Refusal {
    /// A body of another kind.
    pub(super) fn not_json(why: &str) -> Self {
        let why = format!("failed to parse request body: {why}");
        Self::new(Reason::BadRequest, in_peers_words(&why))
    }
}

/// As the peers say it: clients may look for it.
fn in_peers_words(why: &impl std::fmt::Display) -> String {
    format!("inference error: BadRequest - {why}")
}

#[cfg(test)]
mod tests;
