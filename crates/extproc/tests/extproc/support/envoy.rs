//! A client that plays the proxy: HTTP/2 and gRPC by hand.

use std::future::poll_fn;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request};
use suimon_extproc::codec::Message;
use suimon_extproc::message::{ProcessingRequest, ProcessingResponse};
use suimon_extproc::{Observer, Options, Parts, Server, Serving};

use super::Fixed;

pub(crate) const PROCESS: &str = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";

/// Starts a server of one thread.
pub(crate) fn serve(picker: &Arc<Fixed>, observer: Arc<dyn Observer>, options: Options) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let parts = Parts {
        picker: Arc::clone(picker) as Arc<_>,
        observer,
        health: Arc::new(Serving),
    };
    let workers = Some(2);
    Server::start_plain(listener, parts, Options { workers, ..options }).unwrap()
}

/// A connection to a server.
#[derive(Clone)]
pub(crate) struct Proxy {
    send: SendRequest<Bytes>,
}

/// A stream that is open.
pub(crate) struct Call {
    pub(crate) send: SendStream<Bytes>,
    response: Option<h2::client::ResponseFuture>,
    pub(crate) body: Option<RecvStream>,
    read: BytesMut,
    /// Trailers, or the head of a response that has no body.
    pub(crate) trailers: HeaderMap,
}

impl Proxy {
    pub(crate) async fn connect(to: SocketAddr) -> Self {
        let socket = tokio::net::TcpStream::connect(to).await.unwrap();
        socket.set_nodelay(true).unwrap();
        let (send, connection) = h2::client::handshake(socket).await.unwrap();
        tokio::spawn(async move {
            // It ends with the server or the test.
            let _ = connection.await;
        });
        Self { send }
    }

    pub(crate) async fn call(&self, path: &str) -> Call {
        self.call_with(path, &[]).await
    }

    /// Opens a stream and resets it; `false`: the server takes no more.
    pub(crate) async fn try_call(&self) -> bool {
        let Ok(mut send) = self.send.clone().ready().await else {
            return false;
        };
        let request = Request::post("http://picker/x").body(()).unwrap();
        match send.send_request(request, true) {
            Ok((response, _)) => response.await.is_ok(),
            Err(_) => false,
        }
    }

    /// Status of a request that is not one of gRPC.
    pub(crate) async fn plain(&self, path: &str) -> u16 {
        let mut send = self.send.clone().ready().await.unwrap();
        let request = Request::post(format!("http://picker{path}")).body(());
        let (response, _) = send.send_request(request.unwrap(), true).unwrap();
        response.await.unwrap().status().as_u16()
    }

    pub(crate) async fn call_with(&self, path: &str, headers: &[(&str, &str)]) -> Call {
        let mut request = Request::post(format!("http://picker{path}"));
        request = request.header("content-type", "application/grpc");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut send = self.send.clone().ready().await.unwrap();
        let (response, send) = send.send_request(request.body(()).unwrap(), false).unwrap();
        Call {
            send,
            response: Some(response),
            body: None,
            read: BytesMut::new(),
            trailers: HeaderMap::new(),
        }
    }
}

impl Call {
    pub(crate) async fn say(&mut self, message: &ProcessingRequest) {
        let mut bytes = BytesMut::new();
        message.encode(&mut bytes);
        self.say_raw(&bytes).await;
    }

    pub(crate) async fn say_raw(&mut self, message: &[u8]) {
        let mut framed = BytesMut::new();
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.put_slice(message);
        self.write(framed.freeze()).await;
    }

    pub(crate) async fn write(&mut self, mut bytes: Bytes) {
        while !bytes.is_empty() {
            self.send.reserve_capacity(bytes.len());
            let room = poll_fn(|cx| self.send.poll_capacity(cx)).await;
            let Some(Ok(room)) = room else { return };
            let part = bytes.split_to(room.min(bytes.len()));
            self.send.send_data(part, false).unwrap();
        }
    }

    pub(crate) fn half_close(&mut self) {
        self.send.send_data(Bytes::new(), true).unwrap();
    }

    /// Ends the stream as Envoy does.
    pub(crate) fn reset(mut self) {
        self.send.send_reset(Reason::CANCEL);
    }

    /// The next message; `None`: the server has ended the stream.
    pub(crate) async fn next_raw(&mut self) -> Option<Bytes> {
        loop {
            if let Some((prefix, rest)) = self.read.split_first_chunk::<5>() {
                let length = u32::from_be_bytes(prefix[1..].try_into().unwrap()) as usize;
                if rest.len() >= length {
                    let message = self.read.split_to(5 + length).freeze();
                    return Some(message.slice(5..));
                }
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        if let Some(response) = self.response.take() {
            let (head, body) = response.await.unwrap().into_parts();
            if body.is_end_stream() {
                self.trailers = head.headers;
                return false;
            }
            self.body = Some(body);
        }
        let Some(body) = &mut self.body else {
            return false;
        };
        if let Some(chunk) = body.data().await {
            let chunk = chunk.unwrap();
            body.flow_control().release_capacity(chunk.len()).unwrap();
            self.read.extend_from_slice(&chunk);
            return true;
        }
        self.trailers = body.trailers().await.unwrap().unwrap_or_default();
        false
    }

    pub(crate) async fn next(&mut self) -> Option<ProcessingResponse> {
        let bytes = self.next_raw().await?;
        Some(<ProcessingResponse as Message>::decode(&bytes).unwrap())
    }

    /// All messages until the server ends the stream; gives them and the status.
    pub(crate) async fn rest(mut self) -> (Vec<ProcessingResponse>, String) {
        let mut replies = Vec::new();
        while let Some(reply) = self.next().await {
            replies.push(reply);
        }
        (replies, self.status())
    }

    pub(crate) fn status(&self) -> String {
        let status = self.trailers.get("grpc-status");
        status.map_or("", |s| s.to_str().unwrap()).to_owned()
    }
}
