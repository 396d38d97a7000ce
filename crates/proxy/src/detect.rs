//! What a client speaks, by its first bytes, without reading them.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// Version that a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Http1,
    Http2,
}

/// The first bytes of HTTP/2 by prior knowledge (RFC 9113 §3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Pause between looks while only a part of the preface is there; hardly ever happens.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Waits for the first bytes, at most for `limit`.
///
/// # Errors
/// The client sends nothing, or leaves.
pub(crate) async fn version(stream: &TcpStream, limit: Duration) -> io::Result<Version> {
    tokio::time::timeout(limit, look(stream))
        .await
        .unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
}

async fn look(stream: &TcpStream) -> io::Result<Version> {
    let mut seen = [0; PREFACE.len()];
    loop {
        let n = stream.peek(&mut seen).await?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(version) = decide(seen.get(..n).unwrap_or_default()) {
            return Ok(version);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// `None`: it may still become either.
fn decide(seen: &[u8]) -> Option<Version> {
    if !PREFACE.starts_with(seen) {
        return Some(Version::Http1);
    }
    (seen.len() == PREFACE.len()).then_some(Version::Http2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_as_early_as_it_can() {
        assert_eq!(decide(b"P"), None);
        assert_eq!(decide(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r"), None);
        assert_eq!(decide(PREFACE), Some(Version::Http2));
        assert_eq!(decide(b"PO"), Some(Version::Http1));
        assert_eq!(decide(b"GET / HTTP/1.1\r\n"), Some(Version::Http1));
        assert_eq!(decide(b"PRI * HTTP/1.1\r\n"), Some(Version::Http1));
    }
}
