//! TLS towards proxies: a certificate from files, or one of our own making.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use rustls::crypto::{CryptoProvider, ring};
use rustls::{ServerConfig, SupportedCipherSuite, version};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use suimon_extproc::server::Upgrade;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::super::watch;
use crate::cli::EppArgs;

/// Shakes hands with the certificate of the moment.
#[derive(Clone)]
pub(super) struct Secured(Arc<ArcSwap<ServerConfig>>);

/// Watches the certificate's files until it is dropped.
#[derive(Debug)]
pub(super) struct Reloading(tokio::task::JoinHandle<()>);

/// How TLS is spoken, whatever the certificate is.
#[derive(Debug, Clone)]
struct Terms {
    versions: &'static [&'static rustls::SupportedProtocolVersion],
    provider: Arc<CryptoProvider>,
}

static MODERN: [&rustls::SupportedProtocolVersion; 1] = [&version::TLS13];

/// A certificate and its key.
type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

// === impl Secured ===

impl Secured {
    /// # Errors
    /// The flags ask for what there is not, or the files cannot be used.
    pub(super) fn new(args: &EppArgs) -> anyhow::Result<Self> {
        let terms = Terms::new(args)?;
        let pair = match &args.cert_path {
            Some(folder) => read(folder)?,
            None => own()?,
        };
        let config = Arc::new(terms.config(pair)?);
        Ok(Self(Arc::new(ArcSwap::new(config))))
    }

    /// Follows changes of the files, if that was asked for. Files that cannot be used leave the last
    /// good certificate in force.
    ///
    /// # Errors
    /// The system gives no watch.
    pub(super) fn reload(&self, args: &EppArgs) -> anyhow::Result<Option<Reloading>> {
        let folder = args.cert_path.clone().filter(|_| args.enable_cert_reload);
        let Some(folder) = folder else {
            return Ok(None);
        };
        let terms = Terms::new(args)?;
        let mut changes = watch::path(&folder.join("tls.crt"))
            .with_context(|| format!("`{}` cannot be watched", folder.display()))?;
        let current = Arc::clone(&self.0);
        Ok(Some(Reloading(tokio::spawn(async move {
            loop {
                changes.next().await;
                match read(&folder).and_then(|pair| terms.config(pair)) {
                    Ok(config) => {
                        current.store(Arc::new(config));
                        tracing::info!("the certificate has changed");
                    }
                    Err(error) => tracing::error!(
                        "the new certificate is refused; the last good one stays: {}",
                        crate::chain(&error)
                    ),
                }
            }
        }))))
    }
}

impl Upgrade for Secured {
    type Transport = TlsStream<TcpStream>;

    async fn upgrade(&self, socket: TcpStream) -> io::Result<Self::Transport> {
        TlsAcceptor::from(self.0.load_full()).accept(socket).await
    }
}

// === impl Reloading ===

impl Drop for Reloading {
    fn drop(&mut self) {
        self.0.abort();
    }
}

// === impl Terms ===

impl Terms {
    fn new(args: &EppArgs) -> anyhow::Result<Self> {
        let versions = match args.tls_min_version.as_str() {
            "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => rustls::ALL_VERSIONS,
            "VersionTLS13" => &MODERN,
            other => {
                anyhow::bail!("unknown TLS version `{other}`; accepted: VersionTLS12, VersionTLS13")
            }
        };
        let mut provider = ring::default_provider();
        if !args.tls_cipher_suites.is_empty() {
            let mut chosen = Vec::new();
            for name in &args.tls_cipher_suites {
                chosen.push(suite(name)?);
            }
            let modern = |suite: &&SupportedCipherSuite| suite.tls13().is_some();
            chosen.extend(provider.cipher_suites.iter().filter(modern).copied());
            provider.cipher_suites = chosen;
        }
        Ok(Self {
            versions,
            provider: Arc::new(provider),
        })
    }

    fn config(&self, (chain, key): Pair) -> anyhow::Result<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(self.versions)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .context("certificate and key do not belong together")?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

/// The suite of TLS 1.2 that Go calls `name`.
fn suite(name: &str) -> anyhow::Result<SupportedCipherSuite> {
    // Go leaves out the hash of these two in their older names.
    let full = match name {
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305" | "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305" => {
            format!("{name}_SHA256")
        }
        name => name.to_owned(),
    };
    let offered = ring::ALL_CIPHER_SUITES
        .iter()
        .filter(|suite| suite.tls13().is_none());
    let known: Vec<_> = offered
        .map(|suite| (format!("{:?}", suite.suite()), *suite))
        .collect();
    let found = known.iter().find(|(known, _)| *known == full);
    found.map(|(_, suite)| *suite).with_context(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| name.as_str()).collect();
        format!(
            "unknown cipher suite {name:?}; accepted: {}",
            names.join(", ")
        )
    })
}

/// A certificate of our own making, for ten years: proxies do not verify it.
fn own() -> anyhow::Result<Pair> {
    let mut wanted = rcgen::CertificateParams::default();
    let mut name = rcgen::DistinguishedName::new();
    name.push(rcgen::DnType::OrganizationName, "Inference Ext");
    wanted.distinguished_name = name;
    wanted.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let now = std::time::SystemTime::now();
    const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
    // Clocks of proxies may be a little behind.
    wanted.not_before = (now - DAY).into();
    wanted.not_after = (now + DAY * 3650).into();
    let key = rcgen::KeyPair::generate()?;
    let certificate = wanted.self_signed(&key)?;
    let key = PrivateKeyDer::try_from(key.serialize_der())
        .map_err(|why| anyhow::anyhow!("the key that was made cannot be used: {why}"))?;
    Ok((vec![certificate.der().clone()], key))
}

/// `tls.crt` and `tls.key` of a folder.
fn read(folder: &Path) -> anyhow::Result<Pair> {
    let at = |name: &str| -> PathBuf { folder.join(name) };
    let (certificate, key) = (at("tls.crt"), at("tls.key"));
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .with_context(|| format!("cannot read `{}`; accepted is PEM", certificate.display()))?;
    anyhow::ensure!(
        !chain.is_empty(),
        "no certificate in `{}`; accepted is PEM",
        certificate.display()
    );
    let read = PrivateKeyDer::from_pem_file(&key);
    let key = read.with_context(|| format!("cannot read `{}`; accepted is PEM", key.display()))?;
    Ok((chain, key))
}
