//! A picker in another process: from what the pool says to how it is asked.

use std::sync::Arc;

use rustls_pki_types::ServerName;
use suimon_datalayer::tls::{self, Trust};
use suimon_extproc::{ClientTls, RemoteSettings};
use suimon_routing::table::{PickerTls, RemoteRef};

/// How the picker of `pool` at `at` is asked.
///
/// # Errors
/// TLS is to be verified, and the system has no authorities.
pub(super) fn settings(pool: &Arc<str>, at: &RemoteRef) -> Result<RemoteSettings, String> {
    let trust = match at.tls {
        PickerTls::SkipVerify => Some(Trust::Anybody),
        PickerTls::Verify => Some(Trust::System),
        PickerTls::Plaintext => None,
    };
    let name = ServerName::try_from(at.host.to_string())
        .map_err(|_| format!("`{}` cannot be the name in a certificate", at.host))?;
    let tls = trust.map(|trust| {
        let mut config = tls::config(trust)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(ClientTls {
            config: Arc::new(config),
            name: name.clone(),
        })
    });
    let tls = tls.transpose();
    Ok(RemoteSettings {
        pool: Arc::clone(pool),
        authority: format!("{}:{}", at.host, at.port).into(),
        tls: tls.map_err(|error: suimon_datalayer::error::SourceError| error.to_string())?,
        timeout: at.timeout,
    })
}
