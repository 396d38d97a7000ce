//! A scripted endpoint picker: it answers each message of the protocol of external processing with
//! exactly what it is told to.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, HeaderValue, Request, Response};
use suimon_extproc::codec::Message as _;
use suimon_extproc::message::{
    BodyMutation, CommonResponse, HttpBody, Part, ProcessingRequest, ProcessingResponse, Reply,
    StreamedBody, Struct, Value,
};
use tokio::io::{AsyncRead, AsyncWrite};

/// What the picker does.
#[derive(Debug, Clone)]
pub enum Act {
    /// Says something.
    Say(ProcessingResponse),
    /// Waits.
    Wait(Duration),
    /// Ends the stream well.
    End,
    /// Ends the stream with this status of gRPC.
    Error(u32),
    /// Resets the stream.
    Reset,
    /// Says nothing any more.
    Hang,
}

/// A picker that records what it is told.
#[derive(Debug)]
pub struct FakePicker {
    /// Where it listens.
    pub address: SocketAddr,
    state: Arc<State>,
}

type Script = dyn Fn(&Part) -> Vec<Act> + Send + Sync;

struct State {
    script: Box<Script>,
    heard: Mutex<Vec<ProcessingRequest>>,
    open: Mutex<usize>,
    closing: tokio::sync::Notify,
}

/// A header with the pick, and the metadata of the same content.
#[must_use]
pub fn picked(destination: &str) -> Act {
    let mut common = CommonResponse::default();
    let name = "x-gateway-destination-endpoint";
    common.headers.set(name, destination.to_owned());
    let ours = Struct::of(name, Value::Text(destination.to_owned()));
    Act::Say(ProcessingResponse {
        dynamic_metadata: Some(Struct::of("envoy.lb", Value::Struct(ours))),
        ..ProcessingResponse::of(Reply::RequestHeaders(common))
    })
}

/// A chunk of a body, as a processor in full duplex sends it.
#[must_use]
pub fn chunk(body: impl Into<Bytes>, end_of_stream: bool) -> CommonResponse {
    CommonResponse {
        body: Some(BodyMutation::Streamed(StreamedBody {
            body: body.into(),
            end_of_stream,
        })),
        ..CommonResponse::default()
    }
}

/// What a picker without faults does: it picks `destination` once it has heard the whole request,
/// and gives everything back as it is. `held` keeps the request's body for that.
#[must_use]
pub fn well_behaved(destination: &str, held: &Mutex<Vec<Bytes>>, part: &Part) -> Vec<Act> {
    let say = |reply| Act::Say(ProcessingResponse::of(reply));
    match part {
        Part::RequestHeaders(head) if head.end_of_stream => vec![picked(destination)],
        Part::RequestHeaders(_) => Vec::new(),
        Part::RequestBody(HttpBody {
            body,
            end_of_stream,
        }) => {
            let mut held = lock(held);
            held.push(body.clone());
            if !end_of_stream {
                return Vec::new();
            }
            let last = held.len() - 1;
            let echo = std::mem::take(&mut *held).into_iter().enumerate();
            let echo = echo.map(|(n, body)| say(Reply::RequestBody(chunk(body, n == last))));
            std::iter::once(picked(destination)).chain(echo).collect()
        }
        Part::ResponseHeaders(_) => vec![say(Reply::ResponseHeaders(CommonResponse::default()))],
        Part::ResponseBody(HttpBody {
            body,
            end_of_stream,
        }) => {
            vec![say(Reply::ResponseBody(chunk(
                body.clone(),
                *end_of_stream,
            )))]
        }
        Part::RequestTrailers(_) => vec![say(Reply::RequestTrailers(Default::default()))],
        Part::ResponseTrailers(_) => vec![say(Reply::ResponseTrailers(Default::default()))],
    }
}

// === impl FakePicker ===

impl FakePicker {
    /// Does what `script` says to each message, in plain text.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start(script: impl Fn(&Part) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Self::listen(script, None)
    }

    /// The same behind TLS with a certificate of its own making.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start_tls(script: impl Fn(&Part) -> Vec<Act> + Send + Sync + 'static) -> Self {
        Self::listen(script, Some(self_signed()))
    }

    /// Picks `destination` and has no faults.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn picking(destination: String) -> Self {
        let held = Mutex::default();
        Self::start(move |part| well_behaved(&destination, &held, part))
    }

    fn listen(
        script: impl Fn(&Part) -> Vec<Act> + Send + Sync + 'static,
        tls: Option<tokio_rustls::TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let state = Arc::new(State {
            script: Box::new(script),
            heard: Mutex::default(),
            open: Mutex::default(),
            closing: tokio::sync::Notify::new(),
        });
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build().unwrap().block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let (state, tls) = (Arc::clone(&serving), tls.clone());
                    tokio::spawn(async move {
                        match tls {
                            None => state.serve(stream).await,
                            Some(tls) => {
                                if let Ok(stream) = tls.accept(stream).await {
                                    state.serve(stream).await;
                                }
                            }
                        }
                    });
                }
            });
        });
        Self { address, state }
    }

    /// What it was told so far.
    #[must_use]
    pub fn heard(&self) -> Vec<ProcessingRequest> {
        lock(&self.state.heard).clone()
    }

    /// Closes all connections, at once and without a word.
    pub fn close_connections(&self) {
        self.state.closing.notify_waiters();
    }

    /// Streams that have not ended.
    #[must_use]
    pub fn open(&self) -> usize {
        *lock(&self.state.open)
    }
}

// === impl State ===

impl State {
    async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let Ok(mut connection) = h2::server::handshake(stream).await else {
            return;
        };
        loop {
            let accepted = tokio::select! {
                accepted = connection.accept() => accepted,
                () = self.closing.notified() => return,
            };
            let Some(Ok((request, respond))) = accepted else {
                return;
            };
            let state = Arc::clone(&self);
            tokio::spawn(async move {
                *lock(&state.open) += 1;
                // A gateway that leaves ends the stream: nothing is left to say then.
                let _ = state.converse(request, respond).await;
                *lock(&state.open) -= 1;
            });
        }
    }

    async fn converse(
        &self,
        request: Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
    ) -> Result<(), h2::Error> {
        let kind = "content-type";
        let head = Response::builder()
            .header(kind, "application/grpc")
            .body(());
        let mut send = respond.send_response(head.unwrap(), false)?;
        let mut body = request.into_body();
        let mut buffer = BytesMut::new();
        while let Some(data) = body.data().await {
            let data = data?;
            body.flow_control().release_capacity(data.len())?;
            buffer.extend_from_slice(&data);
            while let Some(message) = unframed(&mut buffer) {
                let Ok(message) = ProcessingRequest::decode(&message) else {
                    return Ok(());
                };
                let acts = message.part.as_ref().map(|part| (self.script)(part));
                lock(&self.heard).push(message);
                for act in acts.unwrap_or_default() {
                    if perform(act, &mut send).await? {
                        return Ok(());
                    }
                }
            }
        }
        send.send_trailers(status(0))
    }
}

/// True: the stream is over.
async fn perform(act: Act, send: &mut SendStream<Bytes>) -> Result<bool, h2::Error> {
    match act {
        Act::Say(message) => send.send_data(framed(&message), false).map(|()| false),
        Act::Wait(time) => {
            tokio::time::sleep(time).await;
            Ok(false)
        }
        Act::End => send.send_trailers(status(0)).map(|()| true),
        Act::Error(code) => send.send_trailers(status(code)).map(|()| true),
        Act::Reset => {
            send.send_reset(Reason::INTERNAL_ERROR);
            Ok(true)
        }
        Act::Hang => {
            std::future::poll_fn(|cx| send.poll_reset(cx)).await?;
            Ok(true)
        }
    }
}

fn status(code: u32) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code));
    trailers
}

fn framed(message: &ProcessingResponse) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.encoded_len()).unwrap());
    message.encode(&mut frame);
    frame.freeze()
}

fn unframed(buffer: &mut BytesMut) -> Option<Bytes> {
    let length = buffer.get(1..5)?;
    let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
    if buffer.len() < 5 + length {
        return None;
    }
    buffer.advance(5);
    Some(buffer.split_to(length).freeze())
}

fn self_signed() -> tokio_rustls::TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["picker".to_owned()]).unwrap();
    let key = rustls_pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config).into()
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "State({} messages)", lock(&self.heard).len())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
