//! The latest requests a replica received, for tests.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;

/// Requests kept.
const MAX_REQUESTS: usize = 1000;

/// Bytes of bodies kept.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// One request as it arrived; scrapes and health checks are not recorded.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// Method, upper case.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// All header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// A ring of requests with bounded memory.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    requests: VecDeque<ReceivedRequest>,
    bytes: usize,
}

// === impl RequestLog ===

impl RequestLog {
    pub(crate) fn push(&mut self, request: ReceivedRequest) {
        self.bytes += request.body.len();
        self.requests.push_back(request);
        while self.requests.len() > MAX_REQUESTS || self.bytes > MAX_BYTES {
            let Some(oldest) = self.requests.pop_front() else {
                break;
            };
            self.bytes -= oldest.body.len();
        }
    }

    /// Oldest first.
    pub(crate) fn to_vec(&self) -> Vec<ReceivedRequest> {
        self.requests.iter().cloned().collect()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(path: &str, len: usize) -> ReceivedRequest {
        ReceivedRequest {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::from(vec![0; len]),
        }
    }

    #[test]
    fn count_and_bytes_are_bounded() {
        let mut log = RequestLog::default();
        for at in 0..1500 {
            log.push(request(&at.to_string(), 1));
        }
        let kept = log.to_vec();
        assert_eq!((kept.len(), &*kept[0].path), (1000, "500"));
        log.push(request("large", MAX_BYTES));
        assert_eq!(log.to_vec().len(), 1);
    }
}
