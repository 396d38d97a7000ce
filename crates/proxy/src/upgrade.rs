//! Upgrades of HTTP/1.1 connections, WebSocket above all: only to Services, and only once the
//! endpoint has agreed with 101. Before that no byte passes raw.

use http::header::{CONNECTION, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use crate::exchange::Exchange;
use crate::stream::ResponseBody;
use suimon_picker::request_id;

/// What a client asks to switch to.
#[derive(Debug)]
pub(crate) struct Upgrade {
    protocol: HeaderValue,
    client: OnUpgrade,
}

/// Takes the wish for an upgrade out of a head. Call before hop-by-hop headers are removed.
pub(crate) fn wish(parts: &mut Parts) -> Option<Upgrade> {
    // The HTTP/1.1 parser leaves it only where an upgrade is possible.
    let client = parts.extensions.remove::<OnUpgrade>()?;
    let protocol = parts.headers.get(UPGRADE)?.clone();
    let listed = parts.headers.get_all(CONNECTION).iter().any(|value| {
        value
            .as_bytes()
            .split(|b| *b == b',')
            .any(|name| name.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
    });
    (listed && parts.version == Version::HTTP_11).then_some(Upgrade { protocol, client })
}

// === impl Upgrade ===

impl Upgrade {
    /// Asks the endpoint for the same.
    pub(crate) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, self.protocol.clone());
    }

    /// The endpoint has agreed: answers the client, and from then on passes bytes both ways until
    /// either side ends.
    pub(crate) fn agreed<B>(
        self,
        mut answer: Response<B>,
        mut exchange: Box<Exchange>,
    ) -> Response<ResponseBody> {
        let endpoint = hyper::upgrade::on(&mut answer);
        let (mut parts, _) = answer.into_parts();
        let protocol = parts.headers.remove(UPGRADE).unwrap_or(self.protocol);
        crate::hop::strip_response(&mut parts.headers);
        parts
            .headers
            .insert(CONNECTION, HeaderValue::from_static("upgrade"));
        parts.headers.insert(UPGRADE, protocol);
        parts
            .headers
            .insert(request_id::HEADER, exchange.id.clone());
        let client = self.client;
        tokio::spawn(async move {
            let (client, endpoint) = match tokio::try_join!(client, endpoint) {
                Ok(sides) => sides,
                Err(error) => return tracing::debug!(%error, "upgrade"),
            };
            let (mut client, mut endpoint) = (TokioIo::new(client), TokioIo::new(endpoint));
            match tokio::io::copy_bidirectional(&mut client, &mut endpoint).await {
                Ok((_, down)) => {
                    exchange.passed(usize::try_from(down).unwrap_or(usize::MAX));
                    exchange.completed();
                }
                Err(error) => tracing::debug!(%error, "upgraded connection"),
            }
        });
        let mut response = Response::from_parts(parts, ResponseBody::Full(bytes::Bytes::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response
    }
}
