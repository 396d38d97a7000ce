//! Which of the bytes that were sent to a picker came back.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};

/// Bytes that are with the picker. While it gives them back as they are, one can go on without it at
/// any byte.
#[derive(Debug, Default)]
pub(super) struct Echo {
    /// Sent and not yet back; empty once `changed`.
    sent: VecDeque<Bytes>,
    len: usize,
    changed: bool,
}

// === impl Echo ===

impl Echo {
    /// Notes bytes that were sent.
    pub(super) fn sent(&mut self, bytes: Bytes) {
        if !self.changed && !bytes.is_empty() {
            self.len += bytes.len();
            self.sent.push_back(bytes);
        }
    }

    /// Notes bytes that came back.
    pub(super) fn back(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.changed {
            let Some(front) = self.sent.front_mut() else {
                return self.change();
            };
            let here = front.len().min(bytes.len());
            let (same, rest) = bytes.split_at(here);
            if !front.starts_with(same) {
                return self.change();
            }
            front.advance(here);
            self.len -= here;
            if front.is_empty() {
                self.sent.pop_front();
            }
            bytes = rest;
        }
    }

    /// Takes the oldest chunk, which the picker lets pass.
    pub(super) fn pass(&mut self) -> Bytes {
        let chunk = self.sent.pop_front().unwrap_or_default();
        self.len -= chunk.len();
        chunk
    }

    /// The picker sends other bytes: nobody can tell any more what it has dealt with.
    pub(super) fn change(&mut self) {
        self.changed = true;
        self.sent.clear();
        self.len = 0;
    }

    /// Whether other bytes came than were sent.
    pub(super) fn is_changed(&self) -> bool {
        self.changed
    }

    /// Bytes that have not come back.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What has not come back; `None` once bytes were changed.
    pub(super) fn take(&mut self) -> Option<VecDeque<Bytes>> {
        self.len = 0;
        (!self.changed).then(|| std::mem::take(&mut self.sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(sent: &[&'static str]) -> Echo {
        let mut echo = Echo::default();
        sent.iter()
            .for_each(|text| echo.sent(Bytes::from_static(text.as_bytes())));
        echo
    }

    fn rest(echo: &mut Echo) -> Option<String> {
        let rest = echo.take()?;
        Some(
            rest.iter()
                .map(|bytes| String::from_utf8_lossy(bytes))
                .collect(),
        )
    }

    #[test]
    fn the_rest_is_known_however_the_bytes_come_back() {
        for size in 1..=9 {
            let mut echo = echo(&["abc", "", "defg", "hi"]);
            "abcdefghi"
                .as_bytes()
                .chunks(size)
                .take(1)
                .for_each(|part| echo.back(part));
            assert_eq!(echo.len(), 9 - size);
            assert_eq!(rest(&mut echo).as_deref(), "abcdefghi".get(size..));
        }
    }

    #[test]
    fn there_is_no_rest_of_a_changed_body() {
        for back in ["x", "abx", "abcdefghij", "abcx"] {
            let mut echo = echo(&["abc", "defghi"]);
            echo.back(back.as_bytes());
            assert!(echo.is_changed(), "{back}");
            echo.sent(Bytes::from_static(b"more"));
            assert_eq!((echo.len(), rest(&mut echo)), (0, None), "{back}");
        }
    }
}
