//! Ids of requests: the client's own where it is sane, else a new one.

use std::cell::Cell;

use http::{HeaderMap, HeaderName, HeaderValue};

/// Header that carries the id, both ways.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that is taken from a client, in bytes.
const MAX_LEN: usize = 128;

/// The id of a request with these headers, which are made to carry it.
#[must_use]
pub fn establish(headers: &mut HeaderMap) -> HeaderValue {
    if let Some(id) = from_client(headers) {
        return id.clone();
    }
    let id = generate();
    headers.insert(HEADER, id.clone());
    id
}

fn from_client(headers: &HeaderMap) -> Option<&HeaderValue> {
    let mut all = headers.get_all(&HEADER).into_iter();
    let id = all.next()?;
    let bytes = id.as_bytes();
    let sane = !bytes.is_empty()
        && bytes.len() <= MAX_LEN
        && bytes.iter().all(u8::is_ascii_graphic)
        && all.next().is_none();
    sane.then_some(id)
}

fn generate() -> HeaderValue {
    #[expect(
        clippy::disallowed_methods,
        reason = "ids of other processes must differ; no decision depends on it"
    )]
    fn start() -> u128 {
        rand::random()
    }
    thread_local! {
        /// Random start, so that ids of other threads and processes differ.
        static NEXT: Cell<u128> = Cell::new(start());
    }
    let id = NEXT.get();
    NEXT.set(id.wrapping_add(1));
    let text = format!("{id:032x}");
    HeaderValue::from_maybe_shared(bytes::Bytes::from(text))
        .unwrap_or_else(|_| HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_sane_id_and_replaces_the_rest() {
        let long = "a".repeat(129);
        for (given, kept) in [
            ("abc-1", true),
            ("", false),
            ("a b", false),
            (&*long, false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, HeaderValue::from_str(given).unwrap());
            let id = establish(&mut headers);
            assert_eq!(id == given, kept, "{given}");
            assert_eq!(headers.get(HEADER), Some(&id));
            assert_eq!(headers.get_all(HEADER).iter().count(), 1);
        }
    }

    #[test]
    fn new_ids_differ() {
        assert_ne!(generate(), generate());
    }
}
