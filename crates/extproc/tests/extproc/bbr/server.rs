//! The server on real sockets.

use std::net::TcpListener;
use std::sync::Arc;

use suimon_extproc::bbr::{Bbr, Ended, Found, Observer, Settings};
use suimon_extproc::message::{BodyMode, ProcessingResponse};
use suimon_extproc::{Options, Plain, Server, Serving};
use tokio::sync::mpsc;

use super::{BASE, MODEL, settings};
use crate::support::envoy::{PROCESS, Proxy};
use crate::support::replies::{
    common, immediate, kinds, request_headers as mutation, streamed, value,
};
use crate::support::{modes, request_body, request_headers, response_body, response_headers};

#[derive(Debug)]
struct Told(mpsc::UnboundedSender<Ended>);

impl Observer for Told {
    fn ended(&self, end: Ended) {
        self.0.send(end).unwrap();
    }
}

fn serve(settings: Settings) -> (Server, mpsc::UnboundedReceiver<Ended>) {
    let (sender, told) = mpsc::unbounded_channel();
    let bbr = Bbr::new(Arc::new(settings), Arc::new(Told(sender)));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = Options {
        workers: Some(2),
        ..Options::default()
    };
    let server = Server::process(listener, Plain, Arc::new(bbr), Arc::new(Serving), options);
    (server.unwrap(), told)
}

fn assert_named(replies: &[ProcessingResponse]) {
    let headers = mutation(replies);
    assert_eq!(value(headers, MODEL), Some("sql"));
    assert_eq!(value(headers, BASE), Some("llama"));
}

#[tokio::test]
async fn a_stream_ends_with_the_request() {
    let (server, mut told) = serve(settings());
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    call.say(&request_body(r#"{"mod"#, false)).await;
    call.say(&request_body(r#"el":"sql"}"#, true)).await;
    let (replies, status) = call.rest().await;
    assert_eq!(kinds(&replies), ["request headers", "request body"]);
    assert_named(&replies);
    assert_eq!(streamed(&replies, true).0, br#"{"model":"sql"}"#);
    assert_eq!(status, "0");
    let ended = told.recv().await.unwrap();
    assert_eq!((ended.found, ended.reason), (Found::Model, None));
}

#[tokio::test]
async fn a_large_body_and_its_response_pass() {
    let (server, _told) = serve(settings());
    let proxy = Proxy::connect(server.address()).await;
    let body = format!(r#"{{"x":"{}","model":"sql"}}"#, "y".repeat(500_000));
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    for chunk in body.as_bytes().chunks(60_000) {
        call.say(&request_body(chunk.to_vec(), false)).await;
    }
    call.say(&request_body("", true)).await;
    call.say(&response_headers("application/json", false)).await;
    call.say(&response_body("{}", true)).await;
    let (replies, status) = call.rest().await;
    assert_named(&replies);
    assert!(streamed(&replies, true).0 == body.as_bytes());
    assert_eq!(streamed(&replies, false).0, b"{}");
    assert_eq!(status, "0");
}

#[tokio::test]
async fn a_held_body_in_one_message() {
    let (server, _told) = serve(settings());
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    let head = request_headers(&[], false);
    call.say(&modes(head, BodyMode::BUFFERED, BodyMode::NONE))
        .await;
    let first = call.next().await.unwrap();
    assert_eq!(common(&first), &Default::default());
    let body = format!(r#"{{"model":"sql","x":"{}"}}"#, "y".repeat(300_000));
    call.say(&request_body(body, true)).await;
    let (replies, status) = call.rest().await;
    assert_eq!(value(&common(&replies[0]).headers, MODEL), Some("sql"));
    assert_eq!((replies.len(), status.as_str()), (1, "0"));
}

#[tokio::test]
async fn a_message_past_the_limit_is_413() {
    let (server, mut told) = serve(Settings {
        body_limit: 1000,
        ..settings()
    });
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], false)).await;
    call.say(&request_body(vec![b'x'; 3 << 20], true)).await;
    let (replies, _) = call.rest().await;
    assert_eq!(immediate(&replies).status, 413);
    assert_eq!(told.recv().await.unwrap().found, Found::Unreadable);
}

#[tokio::test]
async fn strict_mode_needs_to_see_the_body() {
    let (server, mut told) = serve(Settings {
        strict: true,
        ..settings()
    });
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    let head = request_headers(&[], false);
    call.say(&modes(head, BodyMode::STREAMED, BodyMode::NONE))
        .await;
    let (replies, status) = call.rest().await;
    assert!(replies.is_empty());
    assert_eq!(status, "3");
    assert_eq!(told.recv().await.unwrap().found, Found::Unseen);
}
