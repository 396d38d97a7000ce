//! TLS: certificates by server name, protocol by ALPN.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use suimon_routing::table::{Bind, Certificate, Hostname, Protocol, RoutingTable};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::detect::Version;

/// A certificate cannot be used. The last usable one of the same name stays, if there was one.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The chain is not PEM, or empty.
    #[error("certificate `{name}`: no certificate chain in PEM form")]
    Chain {
        /// `namespace/name` of the Secret.
        name: String,
    },
    /// The key is not PEM, or of no known form.
    #[error("certificate `{name}`: no private key in PEM form (PKCS#8, PKCS#1 or SEC1)")]
    Key {
        /// `namespace/name` of the Secret.
        name: String,
    },
    /// The key is not that of the certificate, or its algorithm is not supported.
    #[error("certificate `{name}`: the private key cannot be used with the certificate")]
    Pair {
        /// `namespace/name` of the Secret.
        name: String,
        /// What is wrong.
        #[source]
        source: rustls::Error,
    },
}

/// What a handshake gave.
#[derive(Debug)]
pub(crate) struct Secured {
    pub(crate) stream: TlsStream<TcpStream>,
    pub(crate) version: Version,
    /// Server name, lower case.
    pub(crate) sni: Option<Box<str>>,
}

/// Usable pairs by the name of their Secret, to fall back to.
pub(crate) type Pairs = HashMap<String, Arc<CertifiedKey>>;

/// TLS of all binds of one snapshot.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    pub(crate) binds: HashMap<SocketAddr, Arc<rustls::ServerConfig>>,
    pub(crate) pairs: Pairs,
}

/// Handshakes within `limit`.
///
/// # Errors
/// The client is too slow, or the handshake fails.
pub(crate) async fn accept(
    stream: TcpStream,
    config: Arc<rustls::ServerConfig>,
    limit: Duration,
) -> io::Result<Secured> {
    let handshake = TlsAcceptor::from(config).accept(stream);
    let stream = tokio::time::timeout(limit, handshake)
        .await
        .unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))?;
    let (_, session) = stream.get_ref();
    let version = match session.alpn_protocol() {
        Some(b"h2") => Version::Http2,
        _ => Version::Http1,
    };
    let sni = session
        .server_name()
        .map(|name| name.to_ascii_lowercase().into());
    Ok(Secured {
        stream,
        version,
        sni,
    })
}

/// Builds TLS for the binds of `table`. What cannot be used is reported, and `previous` pairs of the
/// same names are used instead.
pub(crate) fn configure(
    table: &RoutingTable,
    previous: &Pairs,
    problems: &mut Vec<CertificateError>,
) -> Configs {
    let mut configs = Configs::default();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    for bind in table.binds.iter().filter(|b| b.protocol == Protocol::Https) {
        let names = names(bind, &provider, &mut configs.pairs, previous, problems);
        let versions = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions();
        let Ok(versions) = versions else { continue };
        let mut config = versions
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ByName { names }));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        configs.binds.insert(bind.address, Arc::new(config));
    }
    configs
}

type Names = Vec<(Hostname, Vec<Arc<CertifiedKey>>)>;

fn names(
    bind: &Bind,
    provider: &CryptoProvider,
    pairs: &mut Pairs,
    previous: &Pairs,
    problems: &mut Vec<CertificateError>,
) -> Names {
    let mut names = Vec::new();
    for listener in &bind.listeners {
        let mut usable = Vec::new();
        for certificate in &listener.certificates {
            let pair = match load(certificate, provider) {
                Ok(pair) => Some(Arc::new(pair)),
                Err(problem) => {
                    problems.push(problem);
                    previous.get(&certificate.name).cloned()
                }
            };
            if let Some(pair) = pair {
                pairs.insert(certificate.name.clone(), Arc::clone(&pair));
                usable.push(pair);
            }
        }
        names.push((listener.hostname.clone(), usable));
    }
    names
}

fn load(
    certificate: &Certificate,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, CertificateError> {
    let name = || certificate.name.clone();
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&certificate.chain)
        .collect::<Result<_, _>>()
        .map_err(|_| CertificateError::Chain { name: name() })?;
    if chain.is_empty() {
        return Err(CertificateError::Chain { name: name() });
    }
    let key = PrivateKeyDer::from_pem_slice(&certificate.key)
        .map_err(|_| CertificateError::Key { name: name() })?;
    CertifiedKey::from_der(chain, key, provider).map_err(|source| CertificateError::Pair {
        name: name(),
        source,
    })
}

/// Chooses by the server name: the first listener that takes it, most specific first.
#[derive(Debug)]
struct ByName {
    names: Names,
}

// === impl ByName ===

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        let pairs = self
            .names
            .iter()
            .find(|(hostname, _)| takes(hostname, name.as_deref()))
            .map(|(_, pairs)| pairs)?;
        let schemes = hello.signature_schemes();
        pairs
            .iter()
            .find(|pair| pair.key.choose_scheme(schemes).is_some())
            .or_else(|| pairs.first())
            .cloned()
    }
}

/// Without a server name only a listener for all hosts fits.
fn takes(hostname: &Hostname, name: Option<&str>) -> bool {
    match (hostname, name) {
        (Hostname::Any, _) => true,
        (_, None) => false,
        (Hostname::Exact(exact), Some(name)) => **exact == *name,
        (Hostname::Suffix(suffix), Some(name)) => {
            name.len() > suffix.len() && name.ends_with(&**suffix)
        }
    }
}
