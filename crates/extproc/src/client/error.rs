//! How a picker in another process fails.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// A picker in another process failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Its Service has no ready endpoint.
    #[error("the picker's Service has no ready endpoint")]
    NoAddress,
    /// No connection.
    #[error("cannot connect to the picker at `{address}`: {source}")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No TLS, or a certificate that is not accepted.
    #[error("no TLS with the picker at `{address}`: {source}")]
    Tls {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The connection or the stream broke.
    #[error("the connection to the picker broke: {0}")]
    Http2(#[from] h2::Error),
    /// The same, after the picker had begun to answer.
    #[error("the connection to the picker broke while it answered: {0}")]
    Broken(h2::Error),
    /// The answer is no gRPC.
    #[error("the picker answered with HTTP status {0}")]
    Status(http::StatusCode),
    /// An error of gRPC.
    #[error("the picker answered with gRPC status {code}: {message}")]
    Grpc {
        /// Status of gRPC.
        code: u32,
        /// In the picker's words.
        message: String,
    },
    /// A message cannot be read.
    #[error("a message of the picker cannot be read: {0}")]
    Message(String),
    /// The messages come in an order that tells nothing.
    #[error("the picker broke the protocol: {0}")]
    Protocol(&'static str),
    /// It said nothing for too long.
    #[error("the picker did not answer within {0:?}")]
    Timeout(Duration),
    /// The stream ended without a pick.
    #[error("the picker ended the stream without a pick")]
    NoPick,
    /// The pick is not `ip:port`, or a list of those.
    #[error("the pick `{0}` is no endpoint; accepted is `ip:port`, or several with commas")]
    Unreadable(String),
    /// The pick names no ready endpoint of the pool.
    #[error("the pick `{0}` is no ready endpoint of the pool")]
    Outside(String),
}

/// Bytes of a pick that errors show.
const SHOWN: usize = 128;

// === impl ClientError ===

impl ClientError {
    pub(super) fn unreadable(pick: &str) -> Self {
        Self::Unreadable(shown(pick))
    }

    pub(super) fn outside(pick: &str) -> Self {
        Self::Outside(shown(pick))
    }

    /// The same error, of a stream on which something was `heard`.
    pub(super) fn after(self, heard: bool) -> Self {
        match self {
            Self::Http2(error) if heard => Self::Broken(error),
            error => error,
        }
    }

    /// Whether the connection broke before an answer, so that another one may do.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Self::Http2(_))
    }
}

fn shown(pick: &str) -> String {
    let end = pick.floor_char_boundary(SHOWN);
    pick.get(..end).unwrap_or_default().to_owned()
}
