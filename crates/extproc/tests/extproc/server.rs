//! The server on real sockets; a client plays the proxy.

mod real_picker;
mod refusals;

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use suimon_extproc::{Ended, Observer, Options, Server, Settings, Silent};
use tokio::sync::mpsc;

use crate::support::envoy::{Call, PROCESS, Proxy, serve};
use crate::support::replies::{immediate, kinds, request_headers as headers_of, streamed, value};
use crate::support::{Fixed, request_body, request_headers, response_body, response_headers};

const BODY: &str = r#"{"model":"base","messages":[{"role":"user","content":"hi"}]}"#;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells how requests ended.
#[derive(Debug)]
struct Told(mpsc::UnboundedSender<(&'static str, u16)>);

impl Observer for Told {
    fn ended(&self, end: &Ended<'_>) {
        // The test may have heard enough.
        let _ = self.0.send((end.outcome, end.status));
    }
}

fn told(picker: &Arc<Fixed>) -> (Server, mpsc::UnboundedReceiver<(&'static str, u16)>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let server = serve(picker, Arc::new(Told(sender)), Options::default());
    (server, receiver)
}

/// A stream whose request was answered.
async fn answered(proxy: &Proxy) -> Call {
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    call.say(&request_body(BODY, true)).await;
    let replies = [call.next().await.unwrap(), call.next().await.unwrap()];
    assert_eq!(kinds(&replies), ["request headers", "request body"]);
    call
}

#[tokio::test]
async fn a_whole_exchange() {
    let picker = Arc::new(Fixed::renaming("other"));
    let (server, mut ends) = told(&picker);
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    call.say(&request_body(&BODY.as_bytes()[..9], false)).await;
    call.say(&request_body(&BODY.as_bytes()[9..], false)).await;
    call.say(&request_body("", true)).await;
    let request = [call.next().await.unwrap(), call.next().await.unwrap()];
    let told = value(headers_of(&request), "x-gateway-destination-endpoint");
    assert_eq!(told, Some("10.0.0.1:8000"));
    let want = BODY.replace("base", "other");
    assert_eq!(
        streamed(&request, true),
        (want.clone().into(), Some(0), vec![want.len()])
    );
    assert_eq!(picker.in_flight(), [1, 0]);

    call.say(&response_headers("text/event-stream", false))
        .await;
    call.say(&response_body("data: {\"model\":\"ot", false))
        .await;
    call.say(&response_body("her\"}\n\n", false)).await;
    call.say(&response_body("", true)).await;
    let (response, status) = call.rest().await;
    let (body, end, _) = streamed(&response, false);
    assert_eq!(body, b"data: {\"model\":\"base\"}\n\n");
    assert!(end.is_some() && status == "0");
    assert_eq!(ends.recv().await, Some(("completed", 200)));
    assert_eq!(picker.in_flight(), [0, 0]);
}

#[tokio::test]
async fn a_large_body_goes_there_and_back() {
    let picker = Arc::new(Fixed::new(1));
    let server = serve(&picker, Arc::new(Silent), Options::default());
    let proxy = Proxy::connect(server.address()).await;
    let body = format!(r#"{{"model":"base","x":"{}"}}"#, "x".repeat(3 << 20));
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    for chunk in body.as_bytes().chunks(28_000) {
        call.say(&request_body(chunk.to_vec(), false)).await;
    }
    call.say(&request_body("", true)).await;
    call.half_close();
    let (replies, _) = call.rest().await;
    let (sent, end, pieces) = streamed(&replies, true);
    assert!(sent == body.as_bytes());
    assert_eq!(end, Some(pieces.len() - 1));
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_in_every_phase() {
    let picker = Arc::new(Fixed::new(1));
    let (server, mut ends) = told(&picker);
    let proxy = Proxy::connect(server.address()).await;
    let gone = Some(("client-gone", 0));
    // While the request comes in: the reply to a health check shows that it was read.
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    let _later = answered(&proxy).await;
    call.reset();
    assert_eq!(ends.recv().await, gone);
    // While the response is waited for.
    let call = answered(&proxy).await;
    call.reset();
    assert_eq!(ends.recv().await, gone);
    assert_eq!(picker.in_flight(), [1], "the other one");
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed_while_the_picker_thinks() {
    let (asked, mut asks) = mpsc::unbounded_channel();
    let picker = Arc::new(Fixed {
        silent: true,
        asked: Some(asked),
        ..Fixed::new(1)
    });
    let (server, mut ends) = told(&picker);
    let proxy = Proxy::connect(server.address()).await;
    for half_closes in [false, true] {
        let mut call = proxy.call(PROCESS).await;
        call.say(&request_headers(&[], true)).await;
        asks.recv().await.unwrap();
        if half_closes {
            call.half_close();
            assert_eq!(call.next().await, None);
        } else {
            call.reset();
        }
        assert_eq!(ends.recv().await, Some(("client-gone", 0)));
    }
    assert_eq!(picker.in_flight(), [0]);
}

#[tokio::test]
async fn a_client_that_reads_nothing_may_leave() {
    let picker = Arc::new(Fixed::new(1));
    let (server, mut ends) = told(&picker);
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    let body = format!(r#"{{"model":"base","x":"{}"}}"#, "x".repeat(1 << 20));
    call.say(&request_body(body, true)).await;
    // The first reply is here, the rest does not fit into our window.
    assert!(call.next().await.is_some());
    assert_eq!(picker.in_flight(), [1]);
    call.reset();
    assert_eq!(ends.recv().await, Some(("client-gone", 0)));
    assert_eq!(picker.in_flight(), [0]);
}

#[tokio::test]
async fn streams_that_end_anywhere_leave_nothing_behind() {
    const STREAMS: usize = 10_000;
    const AT_ONCE: usize = 250;
    let picker = Arc::new(Fixed::new(3));
    let server = serve(&picker, Arc::new(Silent), Options::default());
    let mut rng = SmallRng::seed_from_u64(7);
    {
        let mut proxies = Vec::new();
        for _ in 0..4 {
            proxies.push(Proxy::connect(server.address()).await);
        }
        for _ in 0..STREAMS / AT_ONCE {
            let mut streams = tokio::task::JoinSet::new();
            for index in 0..AT_ONCE {
                let proxy = proxies[index % proxies.len()].clone();
                let stop = rng.random_range(0..9);
                streams.spawn(async move { partial(&proxy, stop).await });
            }
            streams.join_all().await;
        }
        // Each connection is still good.
        for proxy in &proxies {
            answered(proxy).await;
        }
    }
    assert_eq!(server.drain(PATIENCE).await, 0);
    assert_eq!(picker.in_flight(), [0, 0, 0]);
    let total: u64 = picker.endpoints.iter().map(|e| e.total_requests()).sum();
    assert!(
        total > STREAMS as u64 / 4,
        "most came as far as a decision: {total}"
    );
}

/// An exchange up to a step, then the client is gone.
async fn partial(proxy: &Proxy, stop: u32) {
    let mut call = proxy.call(PROCESS).await;
    let messages = [
        request_headers(&[], false),
        request_body(&BODY.as_bytes()[..20], false),
        request_body(&BODY.as_bytes()[20..], true),
        response_headers("application/json", false),
        response_body(r#"{"model""#, false),
        response_body(r#":"base"}"#, true),
    ];
    for (step, message) in (0..).zip(&messages) {
        if step == stop {
            return call.reset();
        }
        call.say(message).await;
        // Envoy waits for the answers to the request before there is a response.
        if step == 2 {
            if stop == 8 {
                return call.reset();
            }
            call.next().await.unwrap();
        }
    }
    let (_, status) = call.rest().await;
    assert_eq!(status, "0");
}

#[tokio::test]
async fn draining_waits_for_streams_and_takes_no_connections() {
    let picker = Arc::new(Fixed::new(1));
    let server = Arc::new(serve(&picker, Arc::new(Silent), Options::default()));
    let address = server.address();
    let proxy = Proxy::connect(address).await;
    let mut call = answered(&proxy).await;
    let draining = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.drain(PATIENCE).await }
    });
    // The peer is told to open no more.
    while proxy.try_call().await {}
    call.say(&response_headers("application/json", true)).await;
    let (replies, status) = call.rest().await;
    assert_eq!((kinds(&replies), &*status), (vec!["response headers"], "0"));
    assert_eq!(draining.await.unwrap(), 0);
    let refused = tokio::net::TcpStream::connect(address).await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn streams_without_a_request_hold_up_nothing() {
    let picker = Arc::new(Fixed::new(1));
    let server = serve(&picker, Arc::new(Silent), Options::default());
    let proxy = Proxy::connect(server.address()).await;
    let idle = [proxy.call(PROCESS).await, proxy.call(PROCESS).await];
    let mut call = answered(&proxy).await;
    assert_eq!(server.requests(), 1);
    call.say(&response_headers("application/json", true)).await;
    let (_, status) = call.rest().await;
    assert_eq!(&*status, "0");
    assert_eq!(server.drain(PATIENCE).await, 0);
    assert_eq!(server.requests(), 0);
    for mut call in idle {
        assert!(call.next().await.is_none());
        assert_eq!(call.status(), "14");
    }
}

#[tokio::test]
async fn draining_cuts_what_does_not_end() {
    let picker = Arc::new(Fixed::new(1));
    let server = serve(&picker, Arc::new(Silent), Options::default());
    let proxy = Proxy::connect(server.address()).await;
    let _call = answered(&proxy).await;
    assert_eq!(server.connections(), 1);
    assert_eq!(server.drain(Duration::ZERO).await, 1);
    assert_eq!(picker.in_flight(), [0]);
}

#[tokio::test]
async fn a_body_past_the_limit_is_413() {
    let settings = Settings {
        body_limit: 100_000,
        ..Settings::default()
    };
    let options = Options {
        settings: Arc::new(settings),
        ..Options::default()
    };
    let server = serve(&Arc::new(Fixed::new(1)), Arc::new(Silent), options);
    let proxy = Proxy::connect(server.address()).await;
    // In chunks; as one message; as a message that is not even read.
    for chunks in [vec![60_000, 60_000], vec![120_000], vec![2_000_000]] {
        let mut call = proxy.call(PROCESS).await;
        call.say(&request_headers(&[], false)).await;
        for size in chunks {
            call.say(&request_body(vec![b' '; size], false)).await;
        }
        let (replies, status) = call.rest().await;
        assert_eq!(immediate(&replies).status, 413);
        assert_eq!(status, "0");
    }
}
