//! Who is asked, and how.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;

/// How a picker is asked. Its addresses change without it.
#[derive(Debug, Clone)]
pub struct RemoteSettings {
    /// `namespace/name` of the pool, for logs.
    pub pool: Arc<str>,
    /// Authority of the requests: the Service's name.
    pub authority: Box<str>,
    /// `None`: in plain text.
    pub tls: Option<ClientTls>,
    /// Longest wait for a pick, for the answer to a response's head, and for a piece of its body.
    pub timeout: Duration,
}

/// How the picker is known to be the one that is meant.
#[derive(Debug, Clone)]
pub struct ClientTls {
    /// Offers `h2` by ALPN.
    pub config: Arc<ClientConfig>,
    /// The name that its certificate must have, where certificates are verified.
    pub name: ServerName<'static>,
}
