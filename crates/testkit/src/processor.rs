//! A proxy that asks an external processor, or its health service: HTTP/2 and gRPC by hand.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use suimon_extproc::codec::Message;
use suimon_extproc::message::{ProcessingRequest, ProcessingResponse};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// How the proxy connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// In plaintext.
    Plain,
    /// With TLS, whatever the certificate.
    Unverified,
}

/// What a call brought.
#[derive(Debug)]
pub struct Called<M> {
    /// Messages.
    pub messages: Vec<M>,
    /// `grpc-status`.
    pub status: String,
}

/// Says `messages` on a stream of its own and takes the replies until the processor ends it.
///
/// # Panics
/// When there is no connection, or a reply cannot be read.
#[must_use]
pub fn ask(
    address: SocketAddr,
    security: Security,
    messages: &[ProcessingRequest],
) -> Called<ProcessingResponse> {
    let encoded = messages.iter().map(|message| {
        let mut bytes = BytesMut::new();
        message.encode(&mut bytes);
        bytes.freeze()
    });
    let path = "/envoy.service.ext_proc.v3.ExternalProcessor/Process";
    let called = call(address, security, path, &encoded.collect::<Vec<_>>());
    let replies = called.messages.iter();
    let decode = |reply: &Bytes| <ProcessingResponse as Message>::decode(reply).unwrap();
    Called {
        messages: replies.map(decode).collect(),
        status: called.status,
    }
}

/// Whether a health service says that `service` is serving.
///
/// # Panics
/// When it does not answer.
#[must_use]
pub fn is_serving(address: SocketAddr, service: &str) -> bool {
    let mut message = BytesMut::new();
    message.put_u8(0x0a);
    message.put_u8(u8::try_from(service.len()).unwrap());
    message.put_slice(service.as_bytes());
    let path = "/grpc.health.v1.Health/Check";
    let called = call(address, Security::Plain, path, &[message.freeze()]);
    assert_eq!(called.status, "0", "{called:?}");
    called.messages == [Bytes::from_static(&[0x08, 1])]
}

/// Calls a method with these messages.
///
/// # Panics
/// When there is no connection or no gRPC.
#[must_use]
pub fn call(
    address: SocketAddr,
    security: Security,
    path: &str,
    messages: &[Bytes],
) -> Called<Bytes> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let socket = TcpStream::connect(address).await.unwrap();
        let send = match security {
            Security::Plain => speak(socket).await,
            Security::Unverified => {
                let name = ServerName::try_from("processor").unwrap();
                let tls = tokio_rustls::TlsConnector::from(Arc::new(unverified()));
                speak(tls.connect(name, socket).await.unwrap()).await
            }
        };
        exchange(send, path, messages).await
    })
}

async fn speak(socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> SendRequest<Bytes> {
    let (send, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(async move {
        // It ends with the runtime.
        let _ = connection.await;
    });
    send
}

async fn exchange(send: SendRequest<Bytes>, path: &str, messages: &[Bytes]) -> Called<Bytes> {
    let request = Request::post(format!("http://processor{path}"));
    let request = request.header("content-type", "application/grpc").body(());
    let mut send = send.ready().await.unwrap();
    let (response, mut stream) = send.send_request(request.unwrap(), false).unwrap();
    for message in messages {
        let mut framed = BytesMut::new();
        framed.put_u8(0);
        framed.put_u32(u32::try_from(message.len()).unwrap());
        framed.put_slice(message);
        // A processor that has ended the stream wants no more.
        let _ = stream.send_data(framed.freeze(), false);
    }
    let (head, mut body) = response.await.unwrap().into_parts();
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.unwrap();
        body.flow_control().release_capacity(chunk.len()).unwrap();
        bytes.extend_from_slice(&chunk);
    }
    let trailers = body.trailers().await.unwrap();
    Called {
        messages: split(bytes.freeze()),
        status: status(&trailers.unwrap_or(head.headers)),
    }
}

fn split(mut bytes: Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        assert_eq!(bytes.get_u8(), 0, "not compressed");
        let length = bytes.get_u32() as usize;
        messages.push(bytes.split_to(length));
    }
    messages
}

fn status(headers: &HeaderMap) -> String {
    let status = headers.get("grpc-status");
    status
        .map_or("", |status| status.to_str().unwrap())
        .to_owned()
}

fn unverified() -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// Takes every certificate, as proxies do with those that a processor has made itself.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
