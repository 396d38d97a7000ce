//! Finds the places of a response where the model's name stands.

use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::SmallVec;

use super::Restore;
use crate::api_kind::ApiKind;
use crate::rewrite::json_string;
use crate::walk;

/// A model's name to replace by another.
#[derive(Debug)]
pub(super) struct Renaming {
    target: Arc<str>,
    /// The other name as a JSON string.
    written: String,
    /// The member in which events of this API have the name beside the top level.
    nested: Option<&'static [u8]>,
}

/// Values to replace, in order.
pub(super) type Places = SmallVec<[Range<usize>; 2]>;

// === impl Renaming ===

impl Renaming {
    /// `None` if both names are the same or one is empty.
    pub(super) fn new(api: ApiKind, restore: &Restore) -> Option<Self> {
        let Restore { target, incoming } = restore;
        if target == incoming || target.is_empty() || incoming.is_empty() {
            return None;
        }
        let nested: Option<&'static [u8]> = match api {
            ApiKind::Responses => Some(b"response"),
            ApiKind::Messages => Some(b"message"),
            _ => None,
        };
        Some(Self {
            target: Arc::clone(target),
            written: json_string(incoming),
            nested,
        })
    }

    /// Where in the document the target is named as the model; nowhere in one that is not JSON.
    pub(super) fn places(&self, json: &[u8]) -> Places {
        let mut places = Places::new();
        if memchr::memmem::find(json, b"model").is_none() {
            return places;
        }
        let mut nested = None;
        let read = walk::members(json, |member| {
            let key = &json[member.key];
            if key == b"model" && self.is_target(&json[member.value.clone()]) {
                places.push(member.value);
            } else if Some(key) == self.nested {
                nested = Some(member.value);
            }
        });
        if read.is_err() {
            return Places::new();
        }
        if let Some(nested) = nested {
            let inner = &json[nested.clone()];
            let mut deeper = Places::new();
            let read = walk::members(inner, |member| {
                if &inner[member.key] == b"model" && self.is_target(&inner[member.value.clone()]) {
                    deeper.push(nested.start + member.value.start..nested.start + member.value.end);
                }
            });
            if read.is_ok() {
                places.extend(deeper);
            }
        }
        places.sort_unstable_by_key(|place| place.start);
        places
    }

    /// Appends `bytes` to `out` with the other name in `places`.
    pub(super) fn write(&self, bytes: &[u8], places: &Places, out: &mut BytesMut) {
        let mut done = 0;
        for place in places {
            out.put_slice(&bytes[done..place.start]);
            out.put_slice(self.written.as_bytes());
            done = place.end;
        }
        out.put_slice(&bytes[done..]);
    }

    /// `json` with the other name.
    pub(super) fn apply(&self, json: Bytes) -> Bytes {
        let places = self.places(&json);
        if places.is_empty() {
            return json;
        }
        let mut out = BytesMut::with_capacity(json.len() + places.len() * self.written.len());
        self.write(&json, &places, &mut out);
        out.freeze()
    }

    fn is_target(&self, value: &[u8]) -> bool {
        let [b'"', name @ .., b'"'] = value else {
            return false;
        };
        if !name.contains(&b'\\') {
            return name == self.target.as_bytes();
        }
        serde_json::from_slice::<String>(value).is_ok_and(|name| *name == *self.target)
    }
}
