//! TLS as a client: whom to trust. Each user has its own settings: leniency of one is not that of
//! another.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::error::SourceError;
use crate::params::MetricsSourceParams;

/// Where systems keep the authorities that they trust.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Whose certificates are accepted.
#[derive(Debug, Clone, Copy)]
pub enum Trust<'a> {
    /// Anybody's. Signatures are still checked.
    Anybody,
    /// Those that the system's authorities vouch for.
    System,
    /// Those that the authorities in this PEM file vouch for.
    File(&'a Path),
}

/// Settings without a certificate of one's own, and without ALPN.
///
/// # Errors
/// The authorities cannot be read.
pub fn config(trust: Trust<'_>) -> Result<ClientConfig, SourceError> {
    Ok(builder(trust)?.with_no_client_auth())
}

type Builder = ConfigBuilder<ClientConfig, WantsClientCert>;

fn builder(trust: Trust<'_>) -> Result<Builder, SourceError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    Ok(match trust {
        Trust::Anybody => {
            let any = Arc::new(AnyCertificate(provider));
            builder.dangerous().with_custom_certificate_verifier(any)
        }
        Trust::System => builder.with_root_certificates(roots(None)?),
        Trust::File(path) => builder.with_root_certificates(roots(Some(path))?),
    })
}

/// The settings that `params` ask for.
pub(crate) fn of_source(params: &MetricsSourceParams) -> Result<ClientConfig, SourceError> {
    let builder = builder(match &params.ca_cert_path {
        _ if params.insecure_skip_verify => Trust::Anybody,
        Some(path) => Trust::File(path),
        None => Trust::System,
    })?;
    match (&params.client_cert_path, &params.client_key_path) {
        (None, None) => Ok(builder.with_no_client_auth()),
        (Some(certificate), Some(key)) => {
            let chain = certificates("clientCertPath", certificate)?;
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| pem("clientKeyPath", key, error.to_string()))?;
            Ok(builder.with_client_auth_cert(chain, key)?)
        }
        (Some(_), None) => Err(SourceError::ClientPair {
            given: "clientCertPath",
            missing: "clientKeyPath",
        }),
        (None, Some(_)) => Err(SourceError::ClientPair {
            given: "clientKeyPath",
            missing: "clientCertPath",
        }),
    }
}

fn roots(given: Option<&Path>) -> Result<RootCertStore, SourceError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = given {
        for certificate in certificates("caCertPath", path)? {
            roots.add(certificate)?;
        }
        return Ok(roots);
    }
    let path = SYSTEM_ROOTS
        .iter()
        .map(Path::new)
        .find(|path| path.is_file());
    let path = path.ok_or(SourceError::NoRoots)?;
    // Systems keep some that rustls does not take.
    roots.add_parsable_certificates(certificates("system authorities", path)?);
    Ok(roots)
}

fn certificates(
    field: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, SourceError> {
    let fail = |problem: String| pem(field, path, problem);
    let found = CertificateDer::pem_file_iter(path)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|error| fail(error.to_string()))?;
    if found.is_empty() {
        return Err(fail(String::from("no certificate in it; accepted is PEM")));
    }
    Ok(found)
}

fn pem(field: &'static str, path: &Path, problem: String) -> SourceError {
    SourceError::Pem {
        field,
        path: path.to_owned(),
        problem,
    }
}

/// Accepts any certificate. Signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
