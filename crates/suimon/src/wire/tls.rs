//! TLS of the port of external processing: a pair from files, which may change, or one of our own.

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use arc_swap::ArcSwap;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CipherSuite, ServerConfig, SupportedProtocolVersion};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use suimon_extproc::Upgrade;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::watch;
use crate::cli::epp::TlsArgs;

/// How connections are secured.
pub(super) struct Security {
    config: Arc<ServerConfig>,
    pair: Arc<Pair>,
    provider: Arc<CryptoProvider>,
    /// The folder whose changes are followed.
    followed: Option<PathBuf>,
}

/// The pair in use.
#[derive(Debug)]
struct Pair(ArcSwap<CertifiedKey>);

/// Shakes hands.
#[derive(Clone)]
pub(super) struct Secured(TlsAcceptor);

/// Organisation in certificates of our own, as in the peer's.
const ORGANISATION: &str = "Inference Ext";

/// Files of `--cert-path`.
const FILES: [&str; 2] = ["tls.crt", "tls.key"];

/// Quiet after a change of a file, beside what every watch waits: 250 ms in all.
const QUIET: Duration = Duration::from_millis(150);

/// Clocks differ.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

static ONLY_TLS13: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// Suites of TLS 1.2 that there are, by their names in Go.
const SUITES: [(&str, CipherSuite); 6] = [
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ),
    (
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    ),
    (
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ),
];

/// Suites that Go knows and that there are not.
const MISSING: [&str; 16] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

/// Follows the files of the certificate for ever.
pub(super) async fn follow(security: Option<&Security>) -> Infallible {
    let followed = security.and_then(|s| Some((s, s.followed.as_deref()?)));
    let Some((security, folder)) = followed else {
        return std::future::pending().await;
    };
    let [certificate, key] = FILES.map(|file| watch::path(&folder.join(file)));
    let (mut certificate, mut key) = match (certificate, key) {
        (Ok(certificate), Ok(key)) => (certificate, key),
        (Err(error), _) | (_, Err(error)) => {
            tracing::error!(%error, "the certificate cannot be watched");
            return std::future::pending().await;
        }
    };
    loop {
        tokio::select! {
            () = certificate.next() => {}
            () = key.next() => {}
        }
        tokio::time::sleep(QUIET).await;
        match read(folder, &security.provider) {
            Ok(pair) => {
                security.pair.0.store(Arc::new(pair));
                tracing::info!("the certificate has changed");
            }
            Err(error) => {
                let why = crate::chain(&error);
                tracing::error!("{why}; the last good certificate stays");
            }
        }
    }
}

// === impl Security ===

impl Security {
    /// What the flags ask for; `None`: plaintext.
    ///
    /// # Errors
    /// The files or names of versions and suites cannot be used.
    pub(super) fn of(flags: &TlsArgs) -> anyhow::Result<Option<Self>> {
        if !flags.secure_serving {
            return Ok(None);
        }
        let provider = Arc::new(provider(&flags.tls_cipher_suites)?);
        let versions = versions(&flags.tls_min_version)?;
        let folder = Some(Path::new(&flags.cert_path)).filter(|path| !path.as_os_str().is_empty());
        let pair = match folder {
            Some(folder) => read(folder, &provider)?,
            None => own(&provider).context("no certificate could be made")?,
        };
        let pair = Arc::new(Pair(ArcSwap::from_pointee(pair)));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .context("these versions and cipher suites of TLS do not go together")?
            .with_no_client_auth()
            .with_cert_resolver(Arc::<Pair>::clone(&pair));
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Some(Self {
            config: Arc::new(config),
            pair,
            provider,
            followed: folder
                .filter(|_| flags.enable_cert_reload)
                .map(Path::to_owned),
        }))
    }

    pub(super) fn upgrade(&self) -> Secured {
        Secured(TlsAcceptor::from(Arc::clone(&self.config)))
    }
}

// === impl Pair ===

impl ResolvesServerCert for Pair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

// === impl Secured ===

impl Upgrade for Secured {
    type Transport = TlsStream<TcpStream>;

    async fn upgrade(&self, socket: TcpStream) -> io::Result<Self::Transport> {
        self.0.accept(socket).await
    }
}

fn versions(least: &str) -> anyhow::Result<&'static [&'static SupportedProtocolVersion]> {
    match least {
        "" | "VersionTLS12" => Ok(rustls::ALL_VERSIONS),
        "VersionTLS13" => Ok(ONLY_TLS13),
        "VersionTLS10" | "VersionTLS11" => {
            tracing::warn!("--tls-min-version {least}: the least version here is TLS 1.2");
            Ok(rustls::ALL_VERSIONS)
        }
        other => bail!(
            "unknown TLS version {other:?}; accepted are VersionTLS10, VersionTLS11, VersionTLS12 and \
             VersionTLS13"
        ),
    }
}

/// The provider with those suites of TLS 1.2 alone, if any are named. Those of TLS 1.3 stay, as in Go.
fn provider(names: &[String]) -> anyhow::Result<CryptoProvider> {
    let mut provider = rustls::crypto::ring::default_provider();
    if names.is_empty() {
        return Ok(provider);
    }
    let mut wanted = Vec::new();
    for name in names {
        match SUITES.iter().find(|(known, _)| known == name) {
            Some((_, suite)) => wanted.push(*suite),
            None if MISSING.contains(&name.as_str()) => {
                tracing::warn!("--tls-cipher-suites: {name} is not there; it is left out");
            }
            None => bail!("unknown cipher suite {name:?}"),
        }
    }
    anyhow::ensure!(
        !wanted.is_empty(),
        "--tls-cipher-suites: none of these is there; accepted are {}",
        SUITES.map(|(name, _)| name).join(", ")
    );
    let keeps = |suite: &rustls::SupportedCipherSuite| {
        suite.tls13().is_some() || wanted.contains(&suite.suite())
    };
    provider.cipher_suites.retain(keeps);
    Ok(provider)
}

fn read(folder: &Path, provider: &CryptoProvider) -> anyhow::Result<CertifiedKey> {
    let [certificate, key] = FILES.map(|file| folder.join(file));
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .with_context(|| {
            format!(
                "`{}`: no certificate chain in PEM form",
                certificate.display()
            )
        })?;
    anyhow::ensure!(
        !chain.is_empty(),
        "`{}`: no certificate chain in PEM form",
        certificate.display()
    );
    let secret = PrivateKeyDer::from_pem_file(&key)
        .with_context(|| format!("`{}`: no private key in PEM form", key.display()))?;
    CertifiedKey::from_der(chain, secret, provider).with_context(|| {
        format!(
            "`{}`: the private key cannot be used with the certificate",
            key.display()
        )
    })
}

/// A self-signed pair: ECDSA on P-256, ten years, for servers, without names, as nobody verifies it.
fn own(provider: &CryptoProvider) -> anyhow::Result<CertifiedKey> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, ORGANISATION);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let now = SystemTime::now();
    (params.not_before, params.not_after) = ((now - DAY).into(), (now + 3650 * DAY).into());
    let certificate = params.self_signed(&key)?;
    let secret = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    Ok(CertifiedKey::from_der(
        vec![certificate.der().clone()],
        secret,
        provider,
    )?)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn serving(flags: &[&str]) -> TlsArgs {
        let cli = Cli::parse_from([&["suimon", "epp"], flags].concat());
        match cli.command {
            Command::Epp(args) => args.serving.tls,
            other => panic!("{other:?}"),
        }
    }

    fn write(folder: &Path, certificate: &str, key: &str) {
        for (file, text) in FILES.into_iter().zip([certificate, key]) {
            std::fs::write(folder.join(file), text).unwrap();
        }
    }

    fn pair() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::default().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn in_use(security: &Security) -> Vec<u8> {
        security.pair.0.load().cert[0].to_vec()
    }

    #[test]
    fn plaintext_is_asked_for() {
        assert!(
            Security::of(&serving(&["--secure-serving=false"]))
                .unwrap()
                .is_none()
        );
        let security = Security::of(&serving(&[])).unwrap().unwrap();
        assert_eq!(security.config.alpn_protocols, [b"h2"]);
    }

    #[test]
    fn only_the_suites_that_are_named_are_left_of_tls_1_2() {
        let name =
            "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA";
        let security = Security::of(&serving(&[name])).unwrap().unwrap();
        let suites = security.provider.cipher_suites.iter();
        let old: Vec<_> = suites.filter(|suite| suite.tls13().is_none()).collect();
        assert_eq!(old.len(), 1);
        assert_eq!(
            old[0].suite(),
            CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
        );
    }

    #[tokio::test]
    async fn a_new_pair_is_taken_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair();
        write(folder.path(), &certificate, &key);
        let path = format!("--cert-path={}", folder.path().display());
        let args = serving(&[&path, "--enable-cert-reload"]);
        let security = Arc::new(Security::of(&args).unwrap().unwrap());
        let first = in_use(&security);
        let following = Arc::clone(&security);
        let task = tokio::spawn(async move { follow(Some(&following)).await });
        let later = |security: Arc<Security>, before: Vec<u8>| async move {
            while in_use(&security) == before {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        // The watch begins when the task runs first.
        tokio::task::yield_now().await;
        write(folder.path(), "broken", &key);
        read(folder.path(), &security.provider).unwrap_err();
        assert_eq!(in_use(&security), first);
        let (certificate, key) = pair();
        write(folder.path(), &certificate, &key);
        let changed = later(Arc::clone(&security), first);
        tokio::time::timeout(Duration::from_secs(20), changed)
            .await
            .unwrap();
        task.abort();
    }
}
