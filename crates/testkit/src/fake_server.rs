//! A scripted model server: it says exactly the bytes that it is told to.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fixtures::METRICS_IDLE;
use crate::wire::{Message, Wire};

/// A step of an answer.
#[derive(Debug, Clone)]
enum Step {
    Send(Vec<u8>),
    Wait(Duration),
    AwaitClose,
    Reset,
}

/// What to do with one request.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    steps: Vec<Step>,
}

/// A model server that records what it gets.
#[derive(Debug)]
pub struct FakeServer {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<State>,
}

struct State {
    answer: Box<dyn Fn(&Message) -> Answer + Send + Sync>,
    metrics: Mutex<String>,
    requests: Mutex<Vec<Message>>,
    closed: Mutex<Vec<Instant>>,
}

// === impl Answer ===

impl Answer {
    /// Says nothing and closes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A whole response with a length.
    #[must_use]
    pub fn response(status: &str, lines: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{lines}content-length: {length}\r\n\r\n");
        Self::new().send(head).send(body)
    }

    /// A whole `200` of JSON.
    #[must_use]
    pub fn json(body: &str) -> Self {
        Self::response(
            "200 OK",
            "content-type: application/json\r\n",
            body.as_bytes(),
        )
    }

    /// The head of a chunked event stream.
    #[must_use]
    pub fn event_stream() -> Self {
        Self::new().send(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
             transfer-encoding: chunked\r\n\r\n",
        )
    }

    /// Says these bytes.
    #[must_use]
    pub fn send(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.steps.push(Step::Send(bytes.as_ref().to_vec()));
        self
    }

    /// Says these bytes as one chunk; none ends the body.
    #[must_use]
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        let head = format!("{:x}\r\n", bytes.len());
        self.send([head.as_bytes(), bytes, b"\r\n"].concat())
    }

    /// Waits.
    #[must_use]
    pub fn wait(mut self, time: Duration) -> Self {
        self.steps.push(Step::Wait(time));
        self
    }

    /// Says nothing until the peer closes.
    #[must_use]
    pub fn stall(mut self) -> Self {
        self.steps.push(Step::AwaitClose);
        self
    }

    /// Closes with RST.
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }
}

// === impl FakeServer ===

impl FakeServer {
    /// Answers each request, but for those for its metrics page, as `answer` says.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start(answer: impl Fn(&Message) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            answer: Box::new(answer),
            metrics: Mutex::new(METRICS_IDLE.to_owned()),
            requests: Mutex::default(),
            closed: Mutex::default(),
        });
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&serving);
                std::thread::spawn(move || state.serve(Wire::new(stream)));
            }
        });
        Self { address, state }
    }

    /// Replaces the metrics page.
    pub fn set_metrics(&self, page: &str) {
        page.clone_into(&mut lock(&self.state.metrics));
    }

    /// Requests so far, scrapes not included.
    #[must_use]
    pub fn requests(&self) -> Vec<Message> {
        lock(&self.state.requests).clone()
    }

    /// The newest request.
    ///
    /// # Panics
    /// When there was none.
    #[must_use]
    pub fn last(&self) -> Message {
        self.requests().pop().expect("a request")
    }

    /// When stalled answers saw their peers close.
    #[must_use]
    pub fn closed(&self) -> Vec<Instant> {
        lock(&self.state.closed).clone()
    }
}

// === impl State ===

impl State {
    fn serve(&self, mut wire: Wire) {
        // A gateway keeps idle connections for as long as it likes.
        let _ = wire.stream.set_read_timeout(None);
        while let Some(request) = wire.message() {
            let answer = if request.path().starts_with("/metrics") {
                let kind = "content-type: text/plain; version=0.0.4\r\n";
                Answer::response("200 OK", kind, lock(&self.metrics).as_bytes())
            } else {
                let answer = (self.answer)(&request);
                lock(&self.requests).push(request);
                answer
            };
            if answer.steps.is_empty() {
                return;
            }
            for step in answer.steps {
                if !self.step(&mut wire, step) {
                    return;
                }
            }
        }
    }

    /// False: the connection is over.
    fn step(&self, wire: &mut Wire, step: Step) -> bool {
        use std::io::{Read as _, Write as _};
        match step {
            Step::Send(bytes) => wire.stream.write_all(&bytes).is_ok(),
            Step::Wait(time) => {
                std::thread::sleep(time);
                true
            }
            Step::AwaitClose => {
                let closed = matches!(wire.stream.read(&mut [0]), Ok(0) | Err(_));
                if closed {
                    lock(&self.closed).push(Instant::now());
                }
                !closed
            }
            Step::Reset => {
                let socket = socket2::SockRef::from(&wire.stream);
                // Without it the peer sees an end in place of a reset: the test would tell.
                let _ = socket.set_linger(Some(Duration::ZERO));
                false
            }
        }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "State({} requests)", lock(&self.requests).len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
