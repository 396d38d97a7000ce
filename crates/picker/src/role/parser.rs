//! Claims request paths.

use suimon_llm::ApiKind;

/// Says which APIs a pool reads. The formats themselves are in `suimon-llm`.
pub trait Parser: Send + Sync {
    /// APIs that this parser reads; empty: it takes whatever no other parser claims, unread.
    fn claims(&self) -> &'static [ApiKind];
}
