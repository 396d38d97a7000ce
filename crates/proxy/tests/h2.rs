//! HTTP/2 in clear text on both sides.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2 as client;
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use suimon_routing::table::BackendProtocol;
use support::{Fake, Gateway};
use tokio::net::{TcpListener, TcpStream};

type Answer = Response<http_body_util::combinators::BoxBody<Bytes, std::convert::Infallible>>;

/// A model server that speaks h2c; counts its connections.
async fn fake(
    streams: u32,
    wait: Duration,
) -> (std::net::SocketAddr, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (connections, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, cancelled) = (connections.clone(), dropped.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let cancelled = cancelled.clone();
            let service = service_fn(move |request| answer(request, wait, cancelled.clone()));
            let mut builder = server::Builder::new(TokioExecutor::new());
            builder.max_concurrent_streams(streams);
            tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
        }
    });
    (address, connections, dropped)
}

struct OnDrop(Arc<AtomicUsize>, bool);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if !self.1 {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn answer(
    request: Request<hyper::body::Incoming>,
    wait: Duration,
    cancelled: Arc<AtomicUsize>,
) -> Result<Answer, std::convert::Infallible> {
    let mut guard = OnDrop(cancelled, false);
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    tokio::time::sleep(wait).await;
    guard.1 = true;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", "0".parse().unwrap());
    let body = Full::new(body).with_trailers(async { Some(Ok(trailers)) });
    Ok(Response::builder()
        .header("x-authority", parts.uri.authority().unwrap().as_str())
        .header(
            "x-te",
            parts.headers.get("te").map_or("", |v| v.to_str().unwrap()),
        )
        .body(BodyExt::boxed(body))
        .unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn gateway(address: std::net::SocketAddr) -> Gateway {
    let backend = support::service_of(vec![address], BackendProtocol::H2c);
    Gateway::start(support::snapshot(vec![support::rule(backend)], vec![]))
}

async fn connect(gateway: &Gateway) -> client::SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(gateway.address).await.unwrap();
    let (sender, driver) = client::Builder::new(TokioExecutor::new())
        .handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(driver);
    sender
}

fn request(path: &str, body: &'static str) -> Request<Full<Bytes>> {
    Request::post(format!("http://gw.test{path}"))
        .version(Version::HTTP_2)
        .header("te", "trailers")
        .body(Full::new(Bytes::from_static(body.as_bytes())))
        .unwrap()
}

#[test]
fn requests_answers_and_trailers_pass() {
    runtime().block_on(async {
        let (address, connections, _) = fake(100, Duration::ZERO).await;
        let gateway = gateway(address);
        let mut sender = connect(&gateway).await;
        for _ in 0..3 {
            let response = sender
                .send_request(request("/a.B/C", "hello"))
                .await
                .unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["x-authority"], "gw.test");
            assert_eq!(response.headers()["x-te"], "trailers");
            let collected = response.into_body().collect().await.unwrap();
            assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
            assert_eq!(collected.to_bytes(), "hello");
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn http1_clients_reach_h2c_endpoints() {
    let response = runtime().block_on(async {
        let (address, ..) = fake(100, Duration::ZERO).await;
        let gateway = gateway(address);
        let asking = move || gateway.ask(support::post("/x", "{}"));
        tokio::task::spawn_blocking(asking).await.unwrap()
    });
    assert_eq!((response.status(), response.text().as_str()), (200, "{}"));
}

#[test]
fn h2_clients_reach_http1_endpoints_without_hop_headers() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\nx-a: 1\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n".to_vec()
    });
    let gateway = Gateway::pool(&[&fake]);
    runtime().block_on(async {
        let mut sender = connect(&gateway).await;
        let response = sender.send_request(request("/x?y=z", "{}")).await.unwrap();
        let headers = response.headers();
        assert_eq!(headers["x-a"], "1");
        for name in ["transfer-encoding", "connection", "keep-alive"] {
            assert!(!headers.contains_key(name), "{name}");
        }
        assert_eq!(
            response.into_body().collect().await.unwrap().to_bytes(),
            "abcde"
        );
    });
    let seen = fake.last();
    assert_eq!(seen.start, "POST /x?y=z HTTP/1.1");
    assert_eq!(seen.all("host"), ["gw.test"]);
}

#[test]
fn many_streams_use_several_connections() {
    runtime().block_on(async {
        let (address, connections, _) = fake(100, Duration::from_millis(300)).await;
        let gateway = gateway(address);
        let mut waiting = Vec::new();
        for _ in 0..3 {
            let sender = connect(&gateway).await;
            for _ in 0..100 {
                let mut sender = sender.clone();
                waiting.push(tokio::spawn(async move {
                    let response = sender.send_request(request("/", "x")).await.unwrap();
                    response.into_body().collect().await.unwrap().to_bytes()
                }));
            }
        }
        for answer in waiting {
            assert_eq!(answer.await.unwrap(), "x");
        }
        let opened = connections.load(Ordering::SeqCst);
        assert!((3..=5).contains(&opened), "{opened}");
    });
}

#[test]
fn a_small_stream_limit_of_the_endpoint_is_kept() {
    runtime().block_on(async {
        let (address, connections, _) = fake(10, Duration::from_millis(100)).await;
        let gateway = gateway(address);
        let sender = connect(&gateway).await;
        let waiting: Vec<_> = (0..40)
            .map(|_| {
                let mut sender = sender.clone();
                tokio::spawn(async move {
                    sender
                        .send_request(request("/", "x"))
                        .await
                        .unwrap()
                        .status()
                })
            })
            .collect();
        for status in waiting {
            assert_eq!(status.await.unwrap(), 200);
        }
        assert_eq!(connections.load(Ordering::SeqCst), 4);
    });
}

#[test]
fn a_silent_endpoint_fails_over() {
    runtime().block_on(async {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, ..) = fake(100, Duration::ZERO).await;
        let endpoints = [silent.local_addr().unwrap(), address];
        let mut pool = support::pool(support::Fixed {
            endpoints: endpoints.map(support::endpoint).to_vec(),
            ..support::Fixed::default()
        });
        pool.protocol = BackendProtocol::H2c;
        let backend = suimon_routing::table::Backend::Pool(0);
        let mut snapshot = support::snapshot(vec![support::rule(backend)], vec![pool]);
        snapshot.limits.connect = Duration::from_millis(200);
        let gateway = Gateway::start(snapshot);
        let mut sender = connect(&gateway).await;
        let response = sender.send_request(request("/", "x")).await.unwrap();
        assert_eq!(response.status(), 200);
    });
}

#[test]
fn a_client_that_resets_its_stream_cancels_the_endpoints() {
    runtime().block_on(async {
        let (address, connections, cancelled) = fake(100, Duration::from_secs(60)).await;
        let gateway = gateway(address);
        let mut sender = connect(&gateway).await;
        let sent = tokio::time::timeout(
            Duration::from_millis(200),
            sender.send_request(request("/", "x")),
        );
        assert!(sent.await.is_err());
        let started = std::time::Instant::now();
        while cancelled.load(Ordering::SeqCst) == 0 {
            assert!(
                started.elapsed() < Duration::from_millis(100),
                "not cancelled"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(connections.load(Ordering::SeqCst), 1);
    });
}
