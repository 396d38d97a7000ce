//! A raw HTTP/1.1 connection, either side, and the messages on it byte for byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::wait::PATIENCE;

/// A message as it was on the wire.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Start line.
    pub start: String,
    /// Headers in their order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body without chunk framing.
    pub body: Vec<u8>,
    /// Trailers.
    pub trailers: Vec<(String, String)>,
}

/// A raw HTTP/1.1 connection. Reads wait for at most [`PATIENCE`].
#[derive(Debug)]
pub struct Wire {
    /// The socket; bytes that were read ahead are not in it.
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

/// A POST of JSON with further header lines, each ended by CRLF.
#[must_use]
pub fn post(path: &str, body: &str, lines: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: gateway.test\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n{lines}\r\n{body}"
    )
}

/// A GET with further header lines, each ended by CRLF.
#[must_use]
pub fn get(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: gateway.test\r\n{lines}\r\n")
}

/// A chat of these messages, the user's first, then by turns.
#[must_use]
pub fn chat_body(model: &str, messages: &[&str]) -> String {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<_> = roles
        .zip(messages)
        .map(|(role, content)| serde_json::json!({"role": role, "content": content}))
        .collect();
    serde_json::json!({"model": model, "messages": messages, "max_tokens": 4}).to_string()
}

// === impl Message ===

impl Message {
    /// Status of a response.
    ///
    /// # Panics
    /// When it is no response.
    #[must_use]
    pub fn status(&self) -> u16 {
        let status = self
            .start
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("no status line: `{}`", self.start))
    }

    /// Path and query of a request.
    #[must_use]
    pub fn path(&self) -> &str {
        self.start.split(' ').nth(1).unwrap_or_default()
    }

    /// All values of a header, by its name in lower case.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        let found = self.headers.iter().filter(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).collect()
    }

    /// First value of a header, by its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }

    /// First value of a header that has to be there.
    ///
    /// # Panics
    /// When it is not.
    #[must_use]
    pub fn need(&self, name: &str) -> String {
        let value = self.header(name);
        value
            .unwrap_or_else(|| panic!("no `{name}` in {:?}\n{}", self, self.text()))
            .to_owned()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: `{}` `{}`", self.start, self.text()))
    }

    /// The values of the body's `data:` lines.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        let text = self.text();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(str::to_owned)
            .collect()
    }
}

// === impl Wire ===

impl Wire {
    /// Over a connected socket.
    ///
    /// # Panics
    /// When the socket takes no settings.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Connects.
    ///
    /// # Panics
    /// When that fails.
    #[must_use]
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address);
        Self::new(stream.unwrap_or_else(|error| panic!("{address}: {error}")))
    }

    /// Writes bytes as they are.
    ///
    /// # Panics
    /// When the peer has gone.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends one request and reads its response.
    ///
    /// # Panics
    /// When there is no whole response.
    #[must_use]
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        self.send(request);
        self.message()
            .expect("the connection ended before a whole response")
    }

    /// A whole message; `None` when the connection ends before.
    pub fn message(&mut self) -> Option<Message> {
        let mut message = self.head()?;
        let response = message.start.starts_with("HTTP/");
        if message.header("transfer-encoding") == Some("chunked") {
            loop {
                let data = self.chunk()?;
                if data.is_empty() {
                    break;
                }
                message.body.extend(data);
            }
            message.trailers = self.lines()?.iter().map(|line| pair(line)).collect();
        } else if let Some(length) = message.header("content-length") {
            let bodyless = response && matches!(message.status(), 204 | 304);
            let length = if bodyless { 0 } else { length.parse().ok()? };
            message.body = self.exactly(length)?;
        }
        Some(message)
    }

    /// A head only.
    pub fn head(&mut self) -> Option<Message> {
        let lines = self.lines()?;
        let (start, headers) = lines.split_first()?;
        let headers = headers.iter().map(|line| pair(line)).collect();
        Some(Message {
            start: start.clone(),
            headers,
            ..Message::default()
        })
    }

    /// One chunk; empty at the last one, whose trailers are left; `None` when the connection ends.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.until(b"\r\n")?;
        let line = String::from_utf8_lossy(&line);
        let size = usize::from_str_radix(line.trim_end().split(';').next()?, 16).ok()?;
        if size == 0 {
            return Some(Vec::new());
        }
        let data = self.exactly(size)?;
        self.exactly(2)?;
        Some(data)
    }

    /// Whether the peer closes, within `limit`; what it still sends is thrown away.
    ///
    /// # Panics
    /// When the socket takes no settings.
    pub fn closes_within(&mut self, limit: Duration) -> bool {
        self.stream.set_read_timeout(Some(limit)).unwrap();
        while self.fill() {
            self.buffer.clear();
        }
        // A read that fails by its time limit leaves the socket open.
        self.stream
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let ended = match self.stream.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => !is_timeout(&error),
        };
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        ended
    }

    /// Closes with RST in place of FIN.
    ///
    /// # Panics
    /// When the socket takes no settings.
    pub fn reset(self) {
        socket2::SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }

    fn lines(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let line = self.until(b"\r\n")?;
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if line.is_empty() {
                return Some(lines);
            }
            lines.push(line);
        }
    }

    /// Up to and with `mark`.
    fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self
                .buffer
                .windows(mark.len())
                .position(|window| window == mark);
            if let Some(at) = found {
                return Some(self.buffer.drain(..at + mark.len()).collect());
            }
            if !self.fill() {
                return None;
            }
        }
    }

    fn exactly(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            if !self.fill() {
                return None;
            }
        }
        Some(self.buffer.drain(..count).collect())
    }

    fn fill(&mut self) -> bool {
        let mut piece = [0; 65536];
        match self.stream.read(&mut piece) {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                self.buffer
                    .extend_from_slice(piece.get(..count).unwrap_or_default());
                true
            }
        }
    }
}

fn pair(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    (name.to_ascii_lowercase(), value.trim().to_owned())
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    )
}
