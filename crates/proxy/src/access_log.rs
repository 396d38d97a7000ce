//! One line a request, written in batches by a thread of its own: a line costs the request path a
//! format into a shared buffer, never a system call.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use parking_lot::Mutex;

use crate::events::RequestEnd;

/// Where lines go. Dropping it writes what is left.
#[derive(Debug)]
pub struct AccessLog {
    shared: Arc<Shared>,
    format: Format,
    writer: Option<JoinHandle<()>>,
    thread: Thread,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `key=value`, values with blanks in quotes.
    #[default]
    Text,
    /// One JSON object.
    Json,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    lost: AtomicU64,
    closed: AtomicBool,
}

/// Lines that wait to be written.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    /// The current second as text, made once a second.
    second: (i64, String),
}

/// What a line says beside what observers are told.
pub(crate) struct Place<'a> {
    pub(crate) peer: &'a str,
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
}

/// Lines are written this long after the first of a batch, at the latest.
const BATCH: Duration = Duration::from_millis(100);

/// Bytes that wait at most. A reader of the log that is slower than the gateway loses lines; it
/// never slows requests down.
const WAITING: usize = 4 << 20;

/// Longest value that is written, in bytes of the original.
const MAX_LEN: usize = 512;

// === impl AccessLog ===

impl AccessLog {
    /// Writes lines to `to`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(format: Format, to: impl Write + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || of_thread.write_to(to))?;
        let thread = writer.thread().clone();
        Ok(Self {
            shared,
            format,
            writer: Some(writer),
            thread,
        })
    }

    /// Lines that were lost because the log was not read fast enough.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Relaxed)
    }

    /// Adds a line. Values of the client are escaped and cut; bodies, queries and credentials are
    /// never written.
    pub(crate) fn line(&self, place: &Place<'_>, end: &RequestEnd<'_>) {
        let mut lines = self.shared.lines.lock();
        if lines.text.len() > WAITING {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let first = lines.text.is_empty();
        lines.tick();
        let Lines {
            text: to,
            second: (_, second),
        } = &mut *lines;
        let mut line = Line {
            to,
            format: self.format,
            started: false,
        };
        line.time(second);
        line.write(place, end);
        drop(lines);
        if first {
            self.thread.unpark();
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        self.thread.unpark();
        if let Some(writer) = self.writer.take() {
            // One that has panicked has told so itself.
            let _ = writer.join();
        }
    }
}

// === impl Lines ===

impl Lines {
    /// Brings the second up to date.
    fn tick(&mut self) {
        let now = jiff::Timestamp::now();
        if self.second.0 != now.as_second() || self.second.1.is_empty() {
            self.second.0 = now.as_second();
            self.second.1.clear();
            // Writing to a string does not fail.
            let _ = write!(self.second.1, "{now:.0}");
        }
    }
}

// === impl Shared ===

impl Shared {
    fn write_to(&self, mut to: impl Write) {
        let mut batch = String::new();
        loop {
            let closed = self.closed.load(Ordering::Acquire);
            std::mem::swap(&mut batch, &mut self.lines.lock().text);
            if batch.is_empty() {
                if closed {
                    return;
                }
                std::thread::park();
                std::thread::park_timeout(BATCH);
                continue;
            }
            // Nowhere to tell of a log that cannot be written.
            let _ = to.write_all(batch.as_bytes()).and_then(|()| to.flush());
            batch.clear();
        }
    }
}

/// One line being written.
struct Line<'a> {
    to: &'a mut String,
    format: Format,
    started: bool,
}

// === impl Line ===

impl Line<'_> {
    fn write(&mut self, place: &Place<'_>, end: &RequestEnd<'_>) {
        self.text("id", end.id);
        self.text("peer", place.peer);
        self.text("method", end.method);
        self.text("host", place.host);
        self.text("path", place.path);
        self.number("status", Some(end.status));
        self.text("outcome", end.outcome);
        self.millis("duration_ms", Some(end.duration));
        self.millis("first_byte_ms", end.first_byte);
        self.number("pick_us", end.pick.map(|time| time.as_micros()));
        self.number("request_bytes", Some(end.request_bytes));
        self.number("response_bytes", Some(end.response_bytes));
        self.known("route", end.route);
        self.known("backend", end.backend);
        self.known("endpoint", end.endpoint);
        self.number("tries", Some(end.tries));
        self.known("model", end.model);
        self.known("target_model", end.target_model);
        self.number("prompt_tokens", end.prompt_tokens);
        self.number("cached_tokens", end.cached_tokens);
        self.number("completion_tokens", end.completion_tokens);
        self.to.push_str(if self.format == Format::Json {
            "}\n"
        } else {
            "\n"
        });
    }

    fn key(&mut self, key: &str) {
        let (lead, open, close) = match (self.format, self.started) {
            (Format::Text, false) => ("", "", "="),
            (Format::Text, true) => (" ", "", "="),
            (Format::Json, false) => ("{", "\"", "\":"),
            (Format::Json, true) => (",", "\"", "\":"),
        };
        self.started = true;
        for part in [lead, open, key, close] {
            self.to.push_str(part);
        }
    }

    fn number(&mut self, key: &str, value: Option<impl itoa::Integer>) {
        if let Some(value) = value {
            self.key(key);
            self.to.push_str(itoa::Buffer::new().format(value));
        }
    }

    /// Milliseconds with three decimals.
    fn millis(&mut self, key: &str, time: Option<Duration>) {
        let Some(time) = time else { return };
        let micros = time.as_micros();
        self.number(key, Some(micros / 1000));
        self.to.push('.');
        for unit in [100, 10, 1] {
            self.to.push(char::from(
                b'0' + u8::try_from(micros / unit % 10).unwrap_or(0),
            ));
        }
    }

    fn time(&mut self, second: &str) {
        self.key("time");
        let quote = if self.format == Format::Json {
            "\""
        } else {
            ""
        };
        for part in [quote, second, quote] {
            self.to.push_str(part);
        }
    }

    fn known(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.text(key, value);
        }
    }

    /// Most values are plain and go out as they are.
    fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'=');
        let bare = !value.is_empty() && value.len() <= MAX_LEN && value.bytes().all(plain);
        if bare && self.format == Format::Text {
            return self.to.push_str(value);
        }
        self.to.push('"');
        if bare {
            self.to.push_str(value);
        } else {
            escape(value, self.to);
        }
        self.to.push('"');
    }
}

/// Writes a value of the client without control characters, quotes and more than [`MAX_LEN`] bytes,
/// so that no line can be forged.
fn escape(text: &str, to: &mut String) {
    let (shown, rest) = text.split_at(text.floor_char_boundary(MAX_LEN));
    for c in shown.chars() {
        match c {
            '"' | '\\' => to.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                // Writing to a string does not fail.
                let _ = write!(to, "\\u{:04x}", u32::from(c));
            }
            c => to.push(c),
        }
    }
    if !rest.is_empty() {
        to.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut line = String::new();
        Line {
            to: &mut line,
            format: Format::Json,
            started: false,
        }
        .text("k", text);
        line.push('}');
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        value["k"].as_str().unwrap().to_owned()
    }

    #[test]
    fn no_line_can_be_forged() {
        let mut line = String::new();
        let forged = "a\r\nstatus=200\u{1b}[2J\"";
        Line {
            to: &mut line,
            format: Format::Text,
            started: false,
        }
        .text("k", forged);
        assert_eq!(line, r#"k="a\u000d\u000astatus=200\u001b[2J\"""#);
        assert_eq!(escaped(forged), forged, "as JSON it is the same text again");
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        for lead in 0..8 {
            let long = format!("{}{}", "a".repeat(lead), "×数😀".repeat(200));
            let written = escaped(&long);
            assert!(written.len() <= MAX_LEN + '…'.len_utf8() && written.ends_with('…'));
        }
    }
}
