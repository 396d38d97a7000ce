//! Content codings of request bodies, undone within the body limit.

use std::io::Read;

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use flate2::read::{DeflateDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use suimon_telemetry::Reason;

use crate::failure::Failure;

/// A coding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
}

/// The coding of a body; `None` when there is none.
///
/// # Errors
/// It is unknown, or there are several.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Option<Coding>, Failure> {
    let mut found = None;
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.as_bytes().split(|b| *b == b',') {
            let name = name.trim_ascii().to_ascii_lowercase();
            let coding = match &*name {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coding::Gzip,
                b"deflate" => Coding::Deflate,
                _ => return Err(unsupported(&name)),
            };
            if found.replace(coding).is_some() {
                return Err(Failure::new(
                    Reason::UnsupportedEncoding,
                    "more than one content encoding; send one of: identity, gzip, deflate",
                ));
            }
        }
    }
    Ok(found)
}

fn unsupported(name: &[u8]) -> Failure {
    let name: String = name.escape_ascii().to_string().chars().take(32).collect();
    Failure::new(
        Reason::UnsupportedEncoding,
        format!("content encoding `{name}` is not supported; send one of: identity, gzip, deflate"),
    )
}

// === impl Coding ===

impl Coding {
    /// The body without the coding, at most `limit` bytes.
    ///
    /// # Errors
    /// It is larger, or not of this coding.
    pub(crate) fn undo(self, bytes: &[u8], limit: usize) -> Result<Bytes, Failure> {
        match self {
            Self::Gzip => gunzip(bytes, limit),
            // RFC 9110 §8.4.1.2 means zlib; some clients send the bare stream.
            Self::Deflate if is_zlib(bytes) => bounded(ZlibDecoder::new(bytes), limit),
            Self::Deflate => bounded(DeflateDecoder::new(bytes), limit),
        }
    }
}

/// Members of one gzip body. Clients send one; a million empty ones decode to nothing and still cost
/// seconds.
const MEMBERS: usize = 16;

fn gunzip(mut bytes: &[u8], limit: usize) -> Result<Bytes, Failure> {
    let mut all = Vec::new();
    for _ in 0..MEMBERS {
        let mut member = GzDecoder::new(bytes);
        let decoded = bounded(&mut member, limit - all.len())?;
        bytes = member.into_inner();
        if all.is_empty() && bytes.is_empty() {
            return Ok(decoded);
        }
        all.extend_from_slice(&decoded);
        if bytes.is_empty() {
            return Ok(all.into());
        }
    }
    Err(Failure::bad_request(
        "the gzip body has more than 16 members",
    ))
}

fn is_zlib(bytes: &[u8]) -> bool {
    matches!(bytes, [cmf, flg, ..]
        if cmf & 0x0f == 8 && (u16::from(*cmf) << 8 | u16::from(*flg)) % 31 == 0)
}

fn bounded(decoder: impl Read, limit: usize) -> Result<Bytes, Failure> {
    let mut out = Vec::new();
    let most = limit as u64 + 1;
    if let Err(error) = decoder.take(most).read_to_end(&mut out) {
        tracing::debug!(%error, "content encoding");
        return Err(Failure::bad_request(
            "the request body does not have the content encoding that its header says",
        ));
    }
    if out.len() > limit {
        return Err(Failure::new(
            Reason::BodyTooLarge,
            format!("the decoded request body is larger than {limit} bytes"),
        ));
    }
    Ok(Bytes::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn a_few_members_are_joined_and_many_are_refused() {
        let two = [gzip(b"{\"a\":"), gzip(b"1}")].concat();
        assert_eq!(Coding::Gzip.undo(&two, 100).unwrap(), &b"{\"a\":1}"[..]);
        assert!(
            Coding::Gzip.undo(&two, 5).is_err(),
            "the limit is on the whole"
        );
        let many = gzip(b"").repeat(MEMBERS + 1);
        assert!(Coding::Gzip.undo(&many, 100).is_err());
    }

    #[test]
    fn undoes_each_form() {
        let text = b"{\"model\":\"m\"}".repeat(20);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(&text).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::fast());
        raw.write_all(&text).unwrap();
        for (coding, bytes) in [
            (Coding::Gzip, gzip.finish().unwrap()),
            (Coding::Deflate, zlib.finish().unwrap()),
            (Coding::Deflate, raw.finish().unwrap()),
        ] {
            assert_eq!(coding.undo(&bytes, text.len()).unwrap(), text);
            let refused = coding.undo(&bytes, text.len() - 1).unwrap_err();
            assert_eq!(refused.reason, Reason::BodyTooLarge);
        }
    }

    #[test]
    fn garbage_is_the_clients_fault() {
        let refused = Coding::Gzip.undo(b"{}", 10).unwrap_err();
        assert_eq!(refused.reason, Reason::BadRequest);
    }

    #[test]
    fn names() {
        for (value, want) in [
            ("gzip", Ok(Some(Coding::Gzip))),
            ("GZIP", Ok(Some(Coding::Gzip))),
            ("identity", Ok(None)),
            ("identity, deflate", Ok(Some(Coding::Deflate))),
            ("br", Err(Reason::UnsupportedEncoding)),
            ("zstd", Err(Reason::UnsupportedEncoding)),
            ("foo", Err(Reason::UnsupportedEncoding)),
            ("gzip, gzip", Err(Reason::UnsupportedEncoding)),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(coding(&headers).map_err(|f| f.reason), want, "{value}");
        }
    }
}
