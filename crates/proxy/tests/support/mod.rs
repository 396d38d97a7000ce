//! A gateway on a real socket, raw model servers behind it, a raw client before it.

#![expect(dead_code, reason = "each test file uses its part")]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing helper fails its test"
)]
#![expect(unreachable_pub, reason = "a module of each test crate")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use suimon_llm::{ApiKind, ModelField};
use suimon_picker::request::Body;
use suimon_picker::{
    Decision, Endpoint, EndpointPicker, EndpointSpec, InFlight, ModelNames, PickError, PickRequest,
    Picking,
};
use suimon_proxy::{Limits, Observer, Options, Pool, RequestEnd, Server, Snapshot};
use suimon_routing::table::{
    Backend, BackendProtocol, Bind, Filter, Hostname, Listener, PathMatch, Protocol, RankedMatch,
    RoutingTable, Rule, ServiceBackend, Timeouts, WeightedBackend,
};

/// Longest wait in any test.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until `done`, at most [`PATIENCE`].
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A message as it was on the wire.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Start line.
    pub start: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body without chunk framing.
    pub body: Vec<u8>,
    /// Trailers.
    pub trailers: Vec<(String, String)>,
}

impl Message {
    pub fn status(&self) -> u16 {
        self.start.split(' ').nth(1).unwrap().parse().unwrap()
    }
    pub fn all(&self, name: &str) -> Vec<&str> {
        let found = self.headers.iter().filter(|(n, _)| n == name);
        found.map(|(_, v)| v.as_str()).collect()
    }
    pub fn header(&self, name: &str) -> Option<&str> {
        self.all(name).first().copied()
    }
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub fn error(&self) -> serde_json::Value {
        let value: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        value["error"].clone()
    }
}

/// A raw HTTP/1.1 connection, either side.
#[derive(Debug)]
pub struct Wire {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            buffer: Vec::new(),
        }
    }
    pub fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).unwrap())
    }
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }
    fn fill(&mut self) -> bool {
        let mut piece = [0; 65536];
        match self.stream.read(&mut piece) {
            Ok(0) | Err(_) => false,
            Ok(n) => {
                self.buffer.extend_from_slice(&piece[..n]);
                true
            }
        }
    }
    /// Up to and with `mark`; `None` at the end.
    pub fn until(&mut self, mark: &[u8]) -> Option<Vec<u8>> {
        loop {
            let found = self.buffer.windows(mark.len()).position(|w| w == mark);
            if let Some(at) = found {
                return Some(self.buffer.drain(..at + mark.len()).collect());
            }
            if !self.fill() {
                return None;
            }
        }
    }
    pub fn exactly(&mut self, n: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < n {
            if !self.fill() {
                return None;
            }
        }
        Some(self.buffer.drain(..n).collect())
    }
    fn lines(&mut self) -> Option<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let line = String::from_utf8_lossy(&self.until(b"\r\n")?)
                .trim_end()
                .to_owned();
            if line.is_empty() {
                return Some(lines);
            }
            lines.push(line);
        }
    }
    /// A head only.
    pub fn head(&mut self) -> Option<Message> {
        let lines = self.lines()?;
        let mut lines = lines.into_iter();
        let start = lines.next()?;
        Some(Message {
            start,
            headers: lines.map(|l| pair(&l)).collect(),
            ..Message::default()
        })
    }
    /// One chunk; empty at the last one, whose trailers are left.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = String::from_utf8_lossy(&self.until(b"\r\n")?)
            .trim_end()
            .to_owned();
        let size = usize::from_str_radix(line.split(';').next()?, 16).ok()?;
        if size == 0 {
            return Some(Vec::new());
        }
        let data = self.exactly(size)?;
        self.exactly(2)?;
        Some(data)
    }
    /// A whole message; `None` when the connection ends before.
    pub fn message(&mut self) -> Option<Message> {
        let mut message = self.head()?;
        let bodyless = message.start.starts_with("HTTP/") && matches!(message.status(), 204 | 304);
        if message.header("transfer-encoding") == Some("chunked") {
            loop {
                let data = self.chunk()?;
                if data.is_empty() {
                    break;
                }
                message.body.extend(data);
            }
            message.trailers = self.lines()?.iter().map(|l| pair(l)).collect();
        } else if let (Some(length), false) = (message.header("content-length"), bodyless) {
            let length = length.parse().unwrap();
            message.body = self.exactly(length)?;
        }
        Some(message)
    }
    /// Sends one request and reads its response.
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        self.send(request);
        self.message().expect("a response")
    }
    /// Whether the peer closes, within [`PATIENCE`].
    pub fn is_closed(&mut self) -> bool {
        let mut rest = [0; 1024];
        loop {
            match self.stream.read(&mut rest) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => {
                    return !matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    );
                }
            }
        }
    }
    /// Closes with RST instead of FIN.
    pub fn reset(self) {
        socket2::SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }
}

fn pair(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    (name.to_ascii_lowercase(), value.trim().to_owned())
}

/// A raw model server: one thread a connection.
#[derive(Debug)]
pub struct Fake {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub requests: Arc<Mutex<Vec<Message>>>,
}

impl Fake {
    /// Runs `serve` for each connection.
    pub fn raw(serve: impl Fn(Wire, &Mutex<Vec<Message>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (count, seen, serve) = (connections.clone(), requests.clone(), Arc::new(serve));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let (seen, serve) = (seen.clone(), serve.clone());
                std::thread::spawn(move || serve(Wire::new(stream), &seen));
            }
        });
        Self {
            address,
            connections,
            requests,
        }
    }
    /// Answers each request of each connection with the bytes of `answer`.
    pub fn new(answer: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::raw(move |mut wire, seen| {
            while let Some(request) = wire.message() {
                let bytes = answer(&request);
                seen.lock().unwrap().push(request);
                if !wire.try_send(bytes) {
                    return;
                }
            }
        })
    }
    /// Answers 200 with `text`.
    pub fn text(text: &'static str) -> Self {
        Self::new(move |_| ok(text))
    }
    pub fn seen(&self) -> Vec<Message> {
        self.requests.lock().unwrap().clone()
    }
    pub fn last(&self) -> Message {
        self.seen().last().expect("a request").clone()
    }
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// `200 OK` with a body.
pub fn ok(body: &str) -> Vec<u8> {
    json("200 OK", body)
}

/// A JSON response.
pub fn json(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// A POST of JSON.
pub fn post(path: &str, body: &str) -> String {
    post_with(path, body, "")
}

/// A POST of JSON with more header lines.
pub fn post_with(path: &str, body: &str, lines: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: gw.test\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{lines}\r\n{body}"
    )
}

/// A GET with more header lines.
pub fn get(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: gw.test\r\n{lines}\r\n")
}

pub fn endpoint(address: SocketAddr) -> Arc<Endpoint> {
    Arc::new(Endpoint::new(EndpointSpec {
        id: Arc::from(address.to_string()),
        address,
        labels: BTreeMap::new(),
    }))
}

/// Picks all its endpoints, in order; renames models if told to.
#[derive(Debug, Default)]
pub struct Fixed {
    pub endpoints: Vec<Arc<Endpoint>>,
    pub target: Option<&'static str>,
    pub error: Option<fn() -> PickError>,
    pub picks: AtomicUsize,
}

impl EndpointPicker for Fixed {
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a> {
        self.picks.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if let Some(error) = self.error {
                return Err(error());
            }
            let first = self.endpoints.first().ok_or(PickError::NoEndpoints)?;
            let mut model = ModelNames {
                incoming: Arc::from(""),
                target: Arc::from(""),
                replace: None,
            };
            let named = match request.body {
                Body::Fields(fields) => match fields.model() {
                    ModelField::Name { name, range } => Some((name.to_owned(), range)),
                    ModelField::Missing { insert } => Some((String::new(), insert)),
                    ModelField::NotAString => return Err(PickError::ModelNotAString),
                },
                Body::Absent | Body::Invalid(_) => None,
            };
            if let (Some((name, range)), Some(target)) = (named, self.target) {
                model.incoming = name.into();
                model.target = target.into();
                model.replace = Some(range);
            }
            Ok(Decision {
                endpoints: self.endpoints.iter().cloned().collect(),
                chosen: 1,
                api: ApiKind::ChatCompletions,
                model,
                priority: 0,
                set_headers: http::HeaderMap::new(),
                remove_headers: Vec::new(),
                body: None,
                follow: None,
                in_flight: InFlight::new(first, 10),
                record: None,
            })
        })
    }
}

/// What the gateway told of each request.
#[derive(Debug, Default)]
pub struct Log {
    pub ends: Mutex<Vec<End>>,
    pub retries: AtomicUsize,
}

#[derive(Debug, Clone)]
pub struct End {
    pub status: u16,
    pub outcome: &'static str,
    pub response_bytes: u64,
    pub endpoint: String,
    pub tries: u32,
}

impl Observer for Log {
    fn request_ended(&self, end: &RequestEnd<'_>) {
        self.ends.lock().unwrap().push(End {
            status: end.status,
            outcome: end.outcome,
            response_bytes: end.response_bytes,
            endpoint: end.endpoint.to_owned(),
            tries: end.tries,
        });
    }
    fn retried(&self, _pool: Option<&str>) {
        self.retries.fetch_add(1, Ordering::SeqCst);
    }
}

/// A gateway that runs.
#[derive(Debug)]
pub struct Gateway {
    pub server: Server,
    pub address: SocketAddr,
    pub log: Arc<Log>,
}

/// Where the one bind of tests is published.
pub fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

impl Gateway {
    pub fn start(snapshot: Snapshot) -> Self {
        Self::with(snapshot, None)
    }
    /// As [`Gateway::pool`], with an access log.
    pub fn logging(fakes: &[&Fake], access_log: Option<Arc<suimon_proxy::AccessLog>>) -> Self {
        let endpoints = fakes.iter().map(|f| endpoint(f.address)).collect();
        let picker = Fixed {
            endpoints,
            ..Fixed::default()
        };
        let routes = snapshot(vec![rule(Backend::Pool(0))], vec![pool(picker)]);
        Self::with(routes, access_log)
    }
    fn with(snapshot: Snapshot, access_log: Option<Arc<suimon_proxy::AccessLog>>) -> Self {
        let log = Arc::new(Log::default());
        let options = Options {
            access_log,
            workers: Some(2),
        };
        let server = Server::start(&options, log.clone()).unwrap();
        let published = server.publish(snapshot);
        assert!(published.problems.is_empty(), "{:?}", published.problems);
        let address = published.listening[0].1;
        Self {
            server,
            address,
            log,
        }
    }
    /// All requests to one pool with these endpoints.
    pub fn pool(fakes: &[&Fake]) -> Self {
        let endpoints = fakes.iter().map(|f| endpoint(f.address)).collect();
        Self::picker(Fixed {
            endpoints,
            ..Fixed::default()
        })
    }
    pub fn picker(picker: Fixed) -> Self {
        Self::start(snapshot(vec![rule(Backend::Pool(0))], vec![pool(picker)]))
    }
    /// All requests to one Service with these endpoints.
    pub fn service(fakes: &[&Fake]) -> Self {
        Self::start(snapshot(vec![rule(service(fakes))], Vec::new()))
    }
    pub fn client(&self) -> Wire {
        Wire::connect(self.address)
    }
    pub fn ask(&self, request: impl AsRef<[u8]>) -> Message {
        self.client().ask(request)
    }
    pub fn ends(&self) -> Vec<End> {
        self.log.ends.lock().unwrap().clone()
    }
}

pub fn pool(picker: Fixed) -> Pool {
    let ready = picker.endpoints.clone();
    Pool {
        name: Arc::from("default/pool"),
        picker: Some(Arc::new(picker)),
        fail_open: false,
        protocol: BackendProtocol::Http1,
        ready: Arc::new(ArcSwap::from_pointee(ready)),
    }
}

pub fn service(fakes: &[&Fake]) -> Backend {
    service_of(
        fakes.iter().map(|f| f.address).collect(),
        BackendProtocol::Http1,
    )
}

pub fn service_of(endpoints: Vec<SocketAddr>, protocol: BackendProtocol) -> Backend {
    Backend::Service(Arc::new(ServiceBackend {
        name: Arc::from("default/service:80"),
        endpoints,
        protocol,
    }))
}

pub fn rule(backend: Backend) -> RankedMatch {
    rule_with("", backend, Vec::new(), Timeouts::default())
}

pub fn rule_with(
    prefix: &str,
    backend: Backend,
    filters: Vec<Filter>,
    timeouts: Timeouts,
) -> RankedMatch {
    let backends = vec![WeightedBackend {
        weight: 1,
        filters: Vec::new(),
        backend,
    }];
    matching(
        prefix,
        Rule {
            route: Arc::from("default/route"),
            index: 0,
            filters,
            backends,
            timeouts,
        },
    )
}

pub fn matching(prefix: &str, rule: Rule) -> RankedMatch {
    RankedMatch {
        hostname: Hostname::Any,
        path: PathMatch::Prefix(prefix.into()),
        method: None,
        headers: Vec::new(),
        query: Vec::new(),
        rule: Arc::new(rule),
    }
}

pub fn listener(matches: Vec<RankedMatch>) -> Listener {
    let needs_model = matches
        .iter()
        .any(|m| m.headers.iter().any(|h| h.name == "x-gateway-model-name"));
    Listener {
        name: Arc::from("default/gateway/http"),
        hostname: Hostname::Any,
        certificates: Vec::new(),
        matches,
        needs_model,
    }
}

pub fn snapshot(matches: Vec<RankedMatch>, pools: Vec<Pool>) -> Snapshot {
    Snapshot {
        table: RoutingTable {
            binds: vec![Bind {
                address: any_port(),
                protocol: Protocol::Http,
                listeners: vec![listener(matches)],
            }],
        },
        pools,
        limits: Limits::default(),
    }
}
