//! TLS: certificates by server name, protocol by ALPN, reload.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

mod support;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use suimon_proxy::{PublishError, Snapshot};
use suimon_routing::table::{Certificate, Hostname, Protocol};
use support::{Fake, Gateway};

/// A self-signed certificate for one name.
fn certificate(secret: &str, name: &str) -> (Certificate, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let signed = CertificateParams::new(vec![name.to_owned()])
        .unwrap()
        .self_signed(&key)
        .unwrap();
    let pem = Certificate {
        name: secret.to_owned(),
        chain: signed.pem().into_bytes(),
        key: key.serialize_pem().into_bytes(),
    };
    (pem, signed.der().clone())
}

/// One HTTPS bind with a listener for each name.
fn snapshot(fake: &Fake, names: Vec<(&str, Certificate)>) -> Snapshot {
    let mut snapshot = support::snapshot(vec![], vec![]);
    let bind = &mut snapshot.table.binds[0];
    bind.protocol = Protocol::Https;
    bind.listeners = names
        .into_iter()
        .map(|(name, certificate)| {
            let mut listener = support::listener(vec![support::rule(support::service(&[fake]))]);
            listener.hostname = match name.strip_prefix('*') {
                Some(suffix) => Hostname::Suffix(suffix.into()),
                None => Hostname::Exact(name.into()),
            };
            listener.certificates = vec![Arc::new(certificate)];
            listener
        })
        .collect();
    snapshot
}

type Client = StreamOwned<ClientConnection, std::net::TcpStream>;

fn connect(
    address: SocketAddr,
    trust: &CertificateDer<'static>,
    name: &'static str,
    alpn: &[&[u8]],
) -> std::io::Result<Client> {
    let mut roots = RootCertStore::empty();
    roots.add(trust.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|p| p.to_vec()).collect();
    let session =
        ClientConnection::new(Arc::new(config), ServerName::try_from(name).unwrap()).unwrap();
    let stream = std::net::TcpStream::connect(address)?;
    stream.set_read_timeout(Some(support::PATIENCE))?;
    let mut client = StreamOwned::new(session, stream);
    while client.conn.is_handshaking() {
        client.conn.complete_io(&mut client.sock)?;
    }
    Ok(client)
}

fn ask(client: &mut Client, host: &str) -> String {
    client
        .write_all(
            format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes(),
        )
        .unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn the_certificate_follows_the_server_name() {
    let fake = Fake::text("{}");
    let (a, trust_a) = certificate("d/a", "a.test");
    let (b, trust_b) = certificate("d/b", "*.b.test");
    let gateway = Gateway::start(snapshot(&fake, vec![("a.test", a), ("*.b.test", b)]));
    let mut client = connect(gateway.address, &trust_a, "a.test", &[]).unwrap();
    assert!(ask(&mut client, "a.test").starts_with("HTTP/1.1 200"));
    let mut client = connect(gateway.address, &trust_b, "x.b.test", &[]).unwrap();
    assert!(ask(&mut client, "x.b.test").starts_with("HTTP/1.1 200"));
    assert!(
        connect(gateway.address, &trust_b, "a.test", &[]).is_err(),
        "not b's for a"
    );
    assert!(
        connect(gateway.address, &trust_a, "c.test", &[]).is_err(),
        "nobody's name"
    );
}

#[test]
fn another_listeners_host_is_misdirected() {
    let fake = Fake::text("{}");
    let (a, trust) = certificate("d/a", "a.test");
    let (b, _) = certificate("d/b", "b.test");
    let gateway = Gateway::start(snapshot(&fake, vec![("a.test", a), ("b.test", b)]));
    let mut client = connect(gateway.address, &trust, "a.test", &[]).unwrap();
    assert!(ask(&mut client, "b.test").starts_with("HTTP/1.1 421"));
}

#[test]
fn alpn_chooses_the_protocol() {
    let fake = Fake::text("{}");
    let (a, trust) = certificate("d/a", "a.test");
    let gateway = Gateway::start(snapshot(&fake, vec![("a.test", a)]));
    for (offered, chosen) in [
        (&[&b"h2"[..], b"http/1.1"][..], Some(&b"h2"[..])),
        (&[b"http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let client = connect(gateway.address, &trust, "a.test", offered).unwrap();
        assert_eq!(client.conn.alpn_protocol(), chosen);
    }
    let mut client = connect(gateway.address, &trust, "a.test", &[b"h2"]).unwrap();
    client
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut frame = [0; 9];
    client.read_exact(&mut frame).unwrap();
    assert_eq!(frame[3], 4, "SETTINGS");
}

#[test]
fn a_new_certificate_is_used_at_once_and_old_connections_live() {
    let fake = Fake::text("{}");
    let (first, trust_first) = certificate("d/a", "a.test");
    let (second, trust_second) = certificate("d/a", "a.test");
    let gateway = Gateway::start(snapshot(&fake, vec![("a.test", first)]));
    let mut old = connect(gateway.address, &trust_first, "a.test", &[]).unwrap();
    let published = gateway
        .server
        .publish(snapshot(&fake, vec![("a.test", second)]));
    assert!(published.problems.is_empty());
    assert!(connect(gateway.address, &trust_first, "a.test", &[]).is_err());
    assert!(connect(gateway.address, &trust_second, "a.test", &[]).is_ok());
    assert!(ask(&mut old, "a.test").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_mismatched_pair_is_reported_and_the_last_good_one_stays() {
    let fake = Fake::text("{}");
    let (first, trust) = certificate("d/a", "a.test");
    let (second, _) = certificate("d/a", "a.test");
    let mixed = Certificate {
        name: "d/a".into(),
        chain: second.chain,
        key: first.key.clone(),
    };
    let gateway = Gateway::start(snapshot(&fake, vec![("a.test", first)]));
    let published = gateway
        .server
        .publish(snapshot(&fake, vec![("a.test", mixed)]));
    assert!(
        matches!(published.problems[..], [PublishError::Certificate(_)]),
        "{published:?}"
    );
    assert!(published.problems[0].to_string().contains("`d/a`"));
    let mut client = connect(gateway.address, &trust, "a.test", &[]).unwrap();
    assert!(ask(&mut client, "a.test").starts_with("HTTP/1.1 200"));
    for (chain, key) in [(&b"garbage"[..], &b"garbage"[..]), (b"", b"")] {
        let broken = Certificate {
            name: "d/a".into(),
            chain: chain.into(),
            key: key.into(),
        };
        let published = gateway
            .server
            .publish(snapshot(&fake, vec![("a.test", broken)]));
        assert_eq!(published.problems.len(), 1);
        assert!(connect(gateway.address, &trust, "a.test", &[]).is_ok());
    }
}

#[test]
fn a_handshake_that_never_begins_is_cut() {
    let fake = Fake::text("{}");
    let (a, _) = certificate("d/a", "a.test");
    let mut snapshot = snapshot(&fake, vec![("a.test", a)]);
    snapshot.limits.tls_handshake = std::time::Duration::from_millis(100);
    let gateway = Gateway::start(snapshot);
    assert!(gateway.client().is_closed());
    let mut plain = gateway.client();
    plain.send("GET / HTTP/1.1\r\nhost: a.test\r\n\r\n");
    assert!(plain.is_closed());
}
