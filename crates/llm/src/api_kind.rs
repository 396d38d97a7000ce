//! Which API a request speaks.

/// The API that a request speaks, by the suffix of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiKind {
    /// OpenAI chat completions.
    ChatCompletions,
    /// OpenAI completions.
    Completions,
    /// OpenAI embeddings.
    Embeddings,
    /// OpenAI responses.
    Responses,
    /// OpenAI conversations.
    Conversations,
    /// OpenAI image generation.
    Images,
    /// Anthropic messages.
    Messages,
    /// Anthropic token counting.
    CountTokens,
    /// vLLM token-in, token-out generation.
    Generate,
    /// Not interpreted.
    Opaque,
}

/// A longer suffix stands before any suffix of its own.
const SUFFIXES: &[(&str, ApiKind)] = &[
    ("chat/completions/render", ApiKind::ChatCompletions),
    ("chat/completions", ApiKind::ChatCompletions),
    ("completions/render", ApiKind::Completions),
    ("completions", ApiKind::Completions),
    ("embeddings", ApiKind::Embeddings),
    ("responses", ApiKind::Responses),
    ("conversations", ApiKind::Conversations),
    ("images/generations", ApiKind::Images),
    ("messages/count_tokens", ApiKind::CountTokens),
    ("messages", ApiKind::Messages),
    ("inference/v1/generate", ApiKind::Generate),
];

// === impl ApiKind ===

impl ApiKind {
    /// The API whose suffix, of whole path segments, is the longest that `path` ends with.
    ///
    /// A query and one slash at the end do not count.
    #[must_use]
    pub fn from_path(path: &str) -> Self {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let path = path.strip_suffix('/').unwrap_or(path);
        SUFFIXES
            .iter()
            .find(|(suffix, _)| {
                path.strip_suffix(suffix)
                    .is_some_and(|front| front.is_empty() || front.ends_with('/'))
            })
            .map_or(Self::Opaque, |(_, kind)| *kind)
    }

    /// Name for labels, logs and the admin API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::Completions => "completions",
            Self::Embeddings => "embeddings",
            Self::Responses => "responses",
            Self::Conversations => "conversations",
            Self::Images => "images",
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::Generate => "generate",
            Self::Opaque => "opaque",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_longest_suffix_of_whole_segments() {
        for (path, kind) in [
            ("/v1/chat/completions", ApiKind::ChatCompletions),
            ("/v1/chat/completions/", ApiKind::ChatCompletions),
            ("/tenant/v1/chat/completions?x=1", ApiKind::ChatCompletions),
            ("/v1/chat/completions/render", ApiKind::ChatCompletions),
            ("/v1/completions", ApiKind::Completions),
            ("completions", ApiKind::Completions),
            ("/v1/completions/render", ApiKind::Completions),
            ("/v1/xcompletions", ApiKind::Opaque),
            ("/v1/embeddings", ApiKind::Embeddings),
            ("/v1/responses", ApiKind::Responses),
            ("/v1/conversations", ApiKind::Conversations),
            ("/v1/images/generations", ApiKind::Images),
            ("/v1/generations", ApiKind::Opaque),
            ("/v1/messages", ApiKind::Messages),
            ("/v1/messages/count_tokens", ApiKind::CountTokens),
            ("/inference/v1/generate", ApiKind::Generate),
            ("/generate", ApiKind::Opaque),
            ("/v1/models", ApiKind::Opaque),
            ("/", ApiKind::Opaque),
            ("", ApiKind::Opaque),
        ] {
            assert_eq!(ApiKind::from_path(path), kind, "{path}");
        }
    }
}
