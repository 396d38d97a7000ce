//! Framing of HTTP/1 requests in the raw bytes, where hyper is more lenient than a gateway may be.
//!
//! Refused: lines that end with a bare LF, `content-length` beside `transfer-encoding` (hyper drops
//! the former), and a second `transfer-encoding` (RFC 9112 §2.2, §6.1, §6.3). The guard follows the
//! framing from request to request. It does not answer itself: it spoils the byte where the fault
//! shows, so that the parser behind it refuses the head, in its turn among pipelined requests.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// A stream of HTTP/1 requests, guarded.
#[derive(Debug)]
pub(crate) struct Guard<S> {
    stream: S,
    scanner: Scanner,
    /// Ends the wait for a client that still sends what nobody reads.
    linger: Option<Pin<Box<Sleep>>>,
}

/// A connection that is closed while its client still sends is reset by the kernel, and the reset
/// can overtake the answer that explains the refusal. So what comes is thrown away for this long.
const LINGER: Duration = Duration::from_secs(5);

/// Follows the framing of requests.
#[derive(Debug, Default)]
struct Scanner {
    phase: Phase,
    /// The line that is not complete yet: as much as can matter.
    line: SmallVec<[u8; KEPT]>,
    head: Head,
}

/// Longest part of a line that can matter: the name and value of a framing header.
const KEPT: usize = 96;

/// A byte that no line of a head may have.
const SPOILT: u8 = 0;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Head,
    /// Bytes of a body with `content-length`, or of a chunk.
    Body {
        left: u64,
        chunked: bool,
    },
    ChunkSize,
    Trailers,
    /// Not looked at any more: refused, upgraded, or the parser refuses it anyway.
    Open,
}

/// What the head so far says of the body.
#[derive(Debug, Default)]
struct Head {
    lines: usize,
    length: Option<u64>,
    chunked: bool,
    upgrade: bool,
}

/// The head cannot be accepted.
struct Fault;

// === impl Scanner ===

impl Scanner {
    fn scan(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            match self.phase {
                Phase::Open => return,
                Phase::Body { left, chunked } => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get_mut(here..).unwrap_or_default();
                    self.phase = match (left - here as u64, chunked) {
                        (0, true) => Phase::ChunkSize,
                        (0, false) => Phase::Head,
                        (left, _) => Phase::Body { left, chunked },
                    };
                }
                Phase::Head | Phase::ChunkSize | Phase::Trailers => {
                    let Some(end) = memchr::memchr(b'\n', bytes) else {
                        self.keep(bytes);
                        return;
                    };
                    let (line, rest) = bytes.split_at_mut(end + 1);
                    self.line(line);
                    bytes = rest;
                }
            }
        }
    }

    /// One line, up to its LF, which is spoilt if the line cannot be accepted.
    fn line(&mut self, with_lf: &mut [u8]) {
        let Some((lf, tail)) = with_lf.split_last_mut() else {
            return;
        };
        let judged = if self.line.is_empty() {
            self.judge(tail)
        } else {
            self.keep(tail);
            let line = std::mem::take(&mut self.line);
            self.judge(&line)
        };
        if judged.is_err() {
            *lf = SPOILT;
            self.phase = Phase::Open;
        }
    }

    /// Keeps the start of a line, and always its last byte: CR or not.
    fn keep(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.line.len() == KEPT {
                self.line.pop();
            }
            self.line.push(*byte);
        }
    }

    fn judge(&mut self, line: &[u8]) -> Result<(), Fault> {
        let line = line.strip_suffix(b"\r").ok_or(Fault)?;
        match self.phase {
            Phase::Head if !line.is_empty() => self.head.line(line)?,
            Phase::Head if self.head.lines == 0 => {}
            Phase::Head => self.phase = std::mem::take(&mut self.head).body(),
            Phase::ChunkSize => {
                self.phase = match chunk_size(line) {
                    Some(0) => Phase::Trailers,
                    // The CRLF behind the chunk belongs to it.
                    Some(size) => Phase::Body {
                        left: size.saturating_add(2),
                        chunked: true,
                    },
                    None => Phase::Open,
                };
            }
            Phase::Trailers if line.is_empty() => self.phase = Phase::Head,
            Phase::Trailers | Phase::Body { .. } | Phase::Open => {}
        }
        Ok(())
    }
}

fn chunk_size(line: &[u8]) -> Option<u64> {
    let end = line
        .iter()
        .position(|b| !b.is_ascii_hexdigit())
        .unwrap_or(line.len());
    let digits = std::str::from_utf8(line.get(..end)?).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

/// Digits only: `parse` alone would take a sign.
fn decimal(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok()?;
    digits.then(|| text.parse().ok())?
}

// === impl Head ===

impl Head {
    fn line(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.lines += 1;
        // The request line and most headers are told by their first letter.
        if self.lines == 1 || !matches!(line.first(), Some(b'c' | b'C' | b't' | b'T' | b'u' | b'U'))
        {
            return Ok(());
        }
        let Some(colon) = memchr::memchr(b':', line) else {
            return Ok(());
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = Some(decimal(value).ok_or(Fault)?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
                return Err(Fault);
            }
            self.chunked = true;
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrade = true;
        }
        if self.chunked && self.length.is_some() {
            return Err(Fault);
        }
        Ok(())
    }

    fn body(self) -> Phase {
        match self {
            Self { upgrade: true, .. } => Phase::Open,
            Self { chunked: true, .. } => Phase::ChunkSize,
            Self {
                length: Some(left), ..
            } if left > 0 => Phase::Body {
                left,
                chunked: false,
            },
            _ => Phase::Head,
        }
    }
}

// === impl Guard ===

impl<S> Guard<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self {
            stream,
            scanner: Scanner::default(),
            linger: None,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(cx, buf);
        if let Some(new) = buf.filled_mut().get_mut(before..) {
            this.scanner.scan(new);
        }
        polled
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
            if this.scanner.phase == Phase::Head {
                return Poll::Ready(Ok(()));
            }
        }
        let linger = this
            .linger
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        if linger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut waste = [MaybeUninit::uninit(); 8192];
        loop {
            let mut waste = ReadBuf::uninit(&mut waste);
            ready!(Pin::new(&mut this.stream).poll_read(cx, &mut waste))?;
            if waste.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
#[path = "head_guard/tests.rs"]
mod tests;
