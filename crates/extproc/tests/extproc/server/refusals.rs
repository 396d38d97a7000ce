//! What is not understood, and the health service.

use std::sync::Arc;

use suimon_extproc::{Options, Server, Silent};

use crate::support::envoy::{PROCESS, Proxy, serve};
use crate::support::{Fixed, request_body, request_headers};

fn server() -> Server {
    serve(
        &Arc::new(Fixed::new(1)),
        Arc::new(Silent),
        Options::default(),
    )
}

#[tokio::test]
async fn other_methods_are_unimplemented() {
    let server = server();
    let proxy = Proxy::connect(server.address()).await;
    for path in [
        "/x",
        "/grpc.health.v1.Health/Watch",
        "/envoy.service.ext_proc.v3.ExternalProcessor/Other",
    ] {
        let call = proxy.call(path).await;
        assert_eq!(call.rest().await.1, "12", "{path}");
    }
}

#[tokio::test]
async fn compression_is_refused_with_what_is_understood() {
    let server = server();
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call_with(PROCESS, &[("grpc-encoding", "gzip")]).await;
    assert_eq!(call.next().await, None);
    assert_eq!(call.status(), "12");
    assert_eq!(
        call.trailers.get("grpc-accept-encoding").unwrap(),
        "identity"
    );
    let mut call = proxy
        .call_with(PROCESS, &[("grpc-encoding", "identity")])
        .await;
    call.say(&request_headers(&[], true)).await;
    assert!(call.next().await.is_some());
}

#[tokio::test]
async fn what_is_no_message_ends_the_stream_alone() {
    let server = server();
    let proxy = Proxy::connect(server.address()).await;
    let mut call = proxy.call(PROCESS).await;
    call.say_raw(b"\x12\x05abc").await;
    assert_eq!(call.rest().await.1, "3");
    let mut call = proxy.call(PROCESS).await;
    call.write(bytes::Bytes::from_static(&[1, 0, 0, 0, 1, 0]))
        .await;
    assert_eq!(call.rest().await.1, "13", "compressed without a word");
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_body("{}", true)).await;
    assert_eq!(call.rest().await.1, "3", "a body without a head");
    let mut call = proxy.call(PROCESS).await;
    call.say(&request_headers(&[], true)).await;
    assert!(call.next().await.is_some(), "the connection is good");
}

#[tokio::test]
async fn what_is_not_grpc_is_415() {
    let server = server();
    let proxy = Proxy::connect(server.address()).await;
    let status = proxy.plain(PROCESS).await;
    assert_eq!(status, 415);
}

#[tokio::test]
async fn health_is_told_by_name() {
    let server = server();
    let proxy = Proxy::connect(server.address()).await;
    let name = "envoy.service.ext_proc.v3.ExternalProcessor";
    for (service, want) in [
        ("", Some(1)),
        (name, Some(1)),
        ("liveness", Some(1)),
        ("other", None),
    ] {
        let mut call = proxy.call("/grpc.health.v1.Health/Check").await;
        let mut asked = vec![0x0a, u8::try_from(service.len()).unwrap()];
        asked.extend(service.as_bytes());
        call.say_raw(&asked).await;
        call.half_close();
        let answer = call.next_raw().await;
        assert_eq!(
            answer.as_deref(),
            want.map(|status| [0x08, status]).as_ref().map(|a| &a[..])
        );
        if want.is_some() {
            assert_eq!(call.next_raw().await, None);
        }
        assert_eq!(call.status(), if want.is_some() { "0" } else { "5" });
    }
    let mut call = proxy.call("/grpc.health.v1.Health/List").await;
    call.say_raw(b"").await;
    let list = call.next_raw().await.unwrap();
    assert!(list.windows(name.len()).any(|part| part == name.as_bytes()));
}
