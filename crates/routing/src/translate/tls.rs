//! Certificates of HTTPS listeners.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use suimon_api::cluster::Secret;
use suimon_api::meta::ObjectRef;

use super::Context;
use super::grants::From;
use crate::status::reason;
use crate::table::Certificate;
use crate::world::Key;

/// Why a certificate cannot be used: reason and message of `ResolvedRefs`.
pub(super) type Refusal = (&'static str, String);

/// Certificates of a listener of a Gateway in `namespace`; the first refusal if some are missing.
pub(super) fn certificates(
    cx: &Context<'_>,
    namespace: &str,
    refs: &[ObjectRef],
) -> (Vec<Arc<Certificate>>, Option<Refusal>) {
    let mut found = Vec::new();
    let mut refusal = None;
    for reference in refs {
        match certificate(cx, namespace, reference) {
            Ok(certificate) => found.push(Arc::new(certificate)),
            Err(error) => {
                refusal.get_or_insert(error);
            }
        }
    }
    if refs.is_empty() {
        let message = "an HTTPS listener needs `tls.certificateRefs` with a Secret".to_owned();
        refusal = Some((reason::INVALID_CERTIFICATE_REF, message));
    }
    (found, refusal)
}

fn certificate(
    cx: &Context<'_>,
    namespace: &str,
    reference: &ObjectRef,
) -> Result<Certificate, Refusal> {
    let invalid = |message: String| (reason::INVALID_CERTIFICATE_REF, message);
    let group = reference.group.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().unwrap_or("Secret");
    if !group.is_empty() || kind != "Secret" {
        return Err(invalid(format!(
            "`{group}/{kind}` cannot hold a certificate; accepted: `Secret` of the core group"
        )));
    }
    let key = Key::new(
        reference.namespace.as_deref().unwrap_or(namespace),
        &reference.name,
    );
    let from = From {
        kind: "Gateway",
        namespace,
    };
    // The grant is asked first, so that nobody learns what exists elsewhere.
    if !cx.grants.allow(from, "", "Secret", &key) {
        let message = format!(
            "no ReferenceGrant in `{}` allows Secret `{key}`",
            key.namespace
        );
        return Err((reason::REF_NOT_PERMITTED, message));
    }
    let secret = cx
        .world
        .secrets
        .get(&key)
        .ok_or_else(|| invalid(format!("Secret `{key}` is not found")))?;
    let chain = pem(secret, &key, "tls.crt", "CERTIFICATE-----").map_err(invalid)?;
    let private = pem(secret, &key, "tls.key", "PRIVATE KEY-----").map_err(invalid)?;
    Ok(Certificate {
        name: key.to_string(),
        chain,
        key: private,
    })
}

/// The value of `field` if it has a PEM block whose label ends with `label`.
fn pem(secret: &Secret, key: &Key, field: &str, label: &str) -> Result<Vec<u8>, String> {
    let value = match (secret.string_data.get(field), secret.data.get(field)) {
        (Some(text), _) => text.clone().into_bytes(),
        (None, Some(encoded)) => {
            let packed: Vec<u8> = encoded
                .bytes()
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect();
            STANDARD
                .decode(packed)
                .map_err(|error| format!("`{field}` of Secret `{key}` is not base64: {error}"))?
        }
        (None, None) => return Err(format!("Secret `{key}` has no `{field}`")),
    };
    let text = String::from_utf8_lossy(&value);
    let has = |edge: &str| {
        text.lines()
            .any(|line| line.starts_with(edge) && line.trim_end().ends_with(label))
    };
    if has("-----BEGIN ") && has("-----END ") {
        Ok(value)
    } else {
        let label = label.trim_end_matches('-');
        Err(format!(
            "`{field}` of Secret `{key}` has no PEM block `{label}`"
        ))
    }
}
