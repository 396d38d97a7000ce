//! A metrics server that answers as a test tells it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use suimon_datalayer::params::MetricsSourceParams;
use suimon_datalayer::scrape::SourceConfig;
use suimon_picker::endpoint::{Endpoint, EndpointSpec};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What to answer to one request.
pub(crate) enum Answer {
    Page(String),
    PageThenClose(String),
    Chunked(Vec<&'static str>),
    Encoded,
    Status(u16),
    Never,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    heads: Mutex<Vec<String>>,
    connections: AtomicUsize,
    open: AtomicUsize,
}

type Script = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

impl Fake {
    pub(crate) async fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_with(None, answer).await
    }

    pub(crate) async fn start_with(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        let script: Script = Arc::new(answer);
        let of_server = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, state, tls) =
                    (Arc::clone(&script), Arc::clone(&of_server), tls.clone());
                tokio::spawn(async move {
                    state.connections.fetch_add(1, Ordering::SeqCst);
                    state.open.fetch_add(1, Ordering::SeqCst);
                    match tls {
                        None => serve(stream, &script, &state).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, &script, &state).await;
                            }
                        }
                    }
                    state.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, state }
    }

    pub(crate) fn requests(&self) -> usize {
        self.state.heads.lock().len()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn open(&self) -> usize {
        self.state.open.load(Ordering::SeqCst)
    }

    pub(crate) fn path(&self, nth: usize) -> String {
        path_of(&self.state.heads.lock()[nth]).to_owned()
    }

    pub(crate) fn host(&self) -> String {
        let heads = self.state.heads.lock();
        let host = heads[0]
            .lines()
            .find_map(|line| line.strip_prefix("host: "));
        host.unwrap().to_owned()
    }
}

/// Answers requests until the client closes, or the script wants it.
async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: &Script, state: &State) {
    while let Some(head) = read_head(&mut stream).await {
        let answer = script(path_of(&head));
        state.heads.lock().push(head);
        let (reply, more) = match answer {
            Answer::Page(page) => (sized(&page), true),
            Answer::PageThenClose(page) => (sized(&page), false),
            Answer::Chunked(parts) => (chunked(&parts), true),
            Answer::Encoded => (
                String::from(
                    "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
                ),
                true,
            ),
            Answer::Status(status) => (
                format!("HTTP/1.1 {status} Status\r\ncontent-length: 0\r\n\r\n"),
                true,
            ),
            Answer::Never => {
                // Reads on, and so sees when the client gives up.
                let _ = read_head(&mut stream).await;
                return;
            }
        };
        if stream.write_all(reply.as_bytes()).await.is_err() || !more {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return None,
            Ok(length) => head.extend_from_slice(&part[..length]),
        }
    }
    Some(String::from_utf8(head).unwrap())
}

fn path_of(head: &str) -> &str {
    head.split(' ').nth(1).unwrap()
}

fn sized(page: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    )
}

fn chunked(parts: &[&str]) -> String {
    let mut reply = String::from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    for part in parts {
        reply.push_str(&format!("{:x}\r\n{part}\r\n", part.len()));
    }
    reply + "0\r\n\r\n"
}

pub(crate) fn page(text: &str) -> Answer {
    Answer::Page(text.to_owned())
}

pub(crate) fn endpoint(fake: &Fake) -> Arc<Endpoint> {
    endpoint_at(fake.address)
}

pub(crate) fn endpoint_at(address: SocketAddr) -> Arc<Endpoint> {
    Arc::new(Endpoint::new(EndpointSpec {
        id: Arc::from("default/a"),
        address,
        labels: BTreeMap::new(),
    }))
}

/// The default source with another path.
pub(crate) fn source(path: &str) -> SourceConfig {
    source_of(&MetricsSourceParams {
        path: path.to_owned(),
        ..MetricsSourceParams::default()
    })
}

pub(crate) fn source_of(params: &MetricsSourceParams) -> SourceConfig {
    SourceConfig::new(
        params,
        Arc::new(suimon_datalayer::extract::Extractor::default()),
    )
    .unwrap()
}

/// Waits until `condition` holds, looking often; fails after ten seconds.
pub(crate) async fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "the condition never came true");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
