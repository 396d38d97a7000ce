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

/// TLS of all binds of one snapshot. The next one takes over what stays the same, so that a change
/// of routes costs no key parsing and ends no session.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    binds: HashMap<SocketAddr, (Names, Arc<rustls::ServerConfig>)>,
    /// Usable pairs by the name of their Secret, with what they were read from.
    pairs: HashMap<String, (Arc<Certificate>, Arc<CertifiedKey>)>,
}

type Names = Arc<Vec<(Hostname, Vec<Arc<CertifiedKey>>)>>;

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
    previous: &Configs,
    problems: &mut Vec<CertificateError>,
) -> Configs {
    let mut configs = Configs::default();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    for bind in table.binds.iter().filter(|b| b.protocol == Protocol::Https) {
        let names = configs.names(bind, &provider, previous, problems);
        let same = previous
            .binds
            .get(&bind.address)
            .filter(|(before, _)| is_same(before, &names));
        let config = match same {
            Some((_, config)) => Some(Arc::clone(config)),
            None => config(&provider, &names),
        };
        if let Some(config) = config {
            configs.binds.insert(bind.address, (names, config));
        }
    }
    configs
}

/// `None` cannot happen: the provider has suites for the versions that it is asked for.
fn config(provider: &Arc<CryptoProvider>, names: &Names) -> Option<Arc<rustls::ServerConfig>> {
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByName {
            names: Arc::clone(names),
        }));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(Arc::new(config))
}

fn is_same(one: &Names, other: &Names) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other.iter())
            .all(|((one, pairs), (other, others))| {
                one == other
                    && pairs.len() == others.len()
                    && pairs.iter().zip(others).all(|(a, b)| Arc::ptr_eq(a, b))
            })
}

// === impl Configs ===

impl Configs {
    /// TLS of one bind.
    pub(crate) fn bind(&self, address: SocketAddr) -> Option<Arc<rustls::ServerConfig>> {
        self.binds
            .get(&address)
            .map(|(_, config)| Arc::clone(config))
    }

    fn names(
        &mut self,
        bind: &Bind,
        provider: &CryptoProvider,
        previous: &Self,
        problems: &mut Vec<CertificateError>,
    ) -> Names {
        let mut names = Vec::new();
        for listener in &bind.listeners {
            let mut usable = Vec::new();
            for certificate in &listener.certificates {
                if let Some(known) = pair(certificate, provider, previous, problems) {
                    usable.push(Arc::clone(&known.1));
                    self.pairs.insert(certificate.name.clone(), known);
                }
            }
            names.push((listener.hostname.clone(), usable));
        }
        Arc::new(names)
    }
}

fn pair(
    certificate: &Arc<Certificate>,
    provider: &CryptoProvider,
    previous: &Configs,
    problems: &mut Vec<CertificateError>,
) -> Option<(Arc<Certificate>, Arc<CertifiedKey>)> {
    let before = previous.pairs.get(&certificate.name);
    if before.is_some_and(|(read, _)| read == certificate) {
        return before.cloned();
    }
    match load(certificate, provider) {
        Ok(pair) => Some((Arc::clone(certificate), Arc::new(pair))),
        Err(problem) => {
            problems.push(problem);
            before.cloned()
        }
    }
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
