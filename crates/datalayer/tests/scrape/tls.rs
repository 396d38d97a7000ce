//! TLS settings of a source: each has its own, and they are honoured.

use std::path::PathBuf;
use std::sync::Arc;

use rustls_pki_types::PrivatePkcs8KeyDer;
use suimon_datalayer::params::{MetricsSourceParams, Scheme};
use suimon_datalayer::scrape::{FirstScrape, Scraper};
use tokio_rustls::TlsAcceptor;

use crate::fake::{Fake, endpoint, page, source_of, wait_until};

const LOAD: &str = "vllm:num_requests_waiting 3\n";

/// An acceptor, and its certificate as PEM.
fn acceptor() -> (TlsAcceptor, String) {
    let made = rcgen::generate_simple_self_signed([String::from("127.0.0.1")]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

fn https(insecure_skip_verify: bool, ca_cert_path: Option<PathBuf>) -> MetricsSourceParams {
    MetricsSourceParams {
        scheme: Scheme::Https,
        insecure_skip_verify,
        ca_cert_path,
        ..MetricsSourceParams::default()
    }
}

#[tokio::test]
async fn leniency_of_one_source_is_not_that_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (accept, own) = acceptor();
    let (_, foreign) = acceptor();
    let (own_path, foreign_path) = (
        folder.path().join("own.pem"),
        folder.path().join("foreign.pem"),
    );
    std::fs::write(&own_path, own).unwrap();
    std::fs::write(&foreign_path, foreign).unwrap();
    let fake = Fake::start_with(Some(accept), |_| page(LOAD)).await;
    let endpoints = [endpoint(&fake), endpoint(&fake), endpoint(&fake)];
    let [lenient, strict, wrong] = endpoints.each_ref();
    let scraper = Scraper::start().unwrap();
    let one = std::slice::from_ref;
    let _lenient = scraper.watch(one(lenient), source_of(&https(true, None)));
    let _strict = scraper.watch(one(strict), source_of(&https(false, Some(own_path))));
    let of_wrong = scraper.watch(one(wrong), source_of(&https(false, Some(foreign_path))));
    wait_until(|| lenient.metrics().waiting == 3 && strict.metrics().waiting == 3).await;
    wait_until(|| of_wrong.first_scrape("default/a") == Some(FirstScrape::GivenUp)).await;
    assert!(wrong.metrics().updated.is_none());
}
