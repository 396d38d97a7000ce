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
    /// SGLang's own generation.
    SglangGenerate,
    /// Generation over vLLM's gRPC service.
    VllmGrpcGenerate,
    /// Embeddings over vLLM's gRPC service.
    VllmGrpcEmbed,
    /// OpenAI chat completions in Vertex AI's gRPC service.
    VertexChat,
    /// OpenAI responses in Vertex AI's gRPC service.
    VertexRawPredict,
    /// The same, as a stream.
    VertexStreamRawPredict,
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
    (
        "vllm.grpc.engine.VllmEngine/Generate",
        ApiKind::VllmGrpcGenerate,
    ),
    ("vllm.grpc.engine.VllmEngine/Embed", ApiKind::VllmGrpcEmbed),
    ("PredictionService/ChatCompletions", ApiKind::VertexChat),
    ("PredictionService/RawPredict", ApiKind::VertexRawPredict),
    (
        "PredictionService/StreamRawPredict",
        ApiKind::VertexStreamRawPredict,
    ),
];

/// The whole path of SGLang's generation. A suffix this general would claim what other servers mean
/// by the word.
const SGLANG_PATH: &str = "/generate";

// === impl ApiKind ===

impl ApiKind {
    /// The API whose suffix, of whole path segments, is the longest that `path` ends with. A gRPC
    /// service may have a package in front.
    ///
    /// A query and one slash at the end do not count.
    #[must_use]
    pub fn from_path(path: &str) -> Self {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let path = path.strip_suffix('/').unwrap_or(path);
        if path == SGLANG_PATH {
            return Self::SglangGenerate;
        }
        SUFFIXES
            .iter()
            .find(|(suffix, kind)| {
                path.strip_suffix(suffix).is_some_and(|front| {
                    front.is_empty()
                        || front.ends_with('/')
                        || (kind.is_grpc() && front.ends_with('.'))
                })
            })
            .map_or(Self::Opaque, |(_, kind)| *kind)
    }

    /// Whether requests and responses are gRPC messages.
    #[must_use]
    pub const fn is_grpc(self) -> bool {
        self.is_vertex() || matches!(self, Self::VllmGrpcGenerate | Self::VllmGrpcEmbed)
    }

    /// Whether it is a method of Vertex AI, whose messages have JSON inside.
    #[must_use]
    pub const fn is_vertex(self) -> bool {
        matches!(
            self,
            Self::VertexChat | Self::VertexRawPredict | Self::VertexStreamRawPredict
        )
    }

    /// Whether a response of this media type, without parameters, can be read.
    #[must_use]
    pub fn answers_with(self, media_type: &[u8]) -> bool {
        const GRPC: &[u8] = b"application/grpc";
        if self.is_grpc() {
            // The format of the messages may stand behind it.
            let (name, format) = media_type.split_at(GRPC.len().min(media_type.len()));
            return name.eq_ignore_ascii_case(GRPC)
                && (format.is_empty() || format.starts_with(b"+"));
        }
        [&b"application/json"[..], b"text/event-stream"]
            .iter()
            .any(|known| media_type.eq_ignore_ascii_case(known))
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
            Self::SglangGenerate => "sglang_generate",
            Self::VllmGrpcGenerate => "vllm_grpc_generate",
            Self::VllmGrpcEmbed => "vllm_grpc_embed",
            Self::VertexChat => "vertex_chat",
            Self::VertexRawPredict => "vertex_raw_predict",
            Self::VertexStreamRawPredict => "vertex_stream_raw_predict",
            Self::Opaque => "opaque",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_read_by_their_media_type() {
        let (chat, grpc) = (ApiKind::ChatCompletions, ApiKind::VertexChat);
        for (media_type, by_chat, by_grpc) in [
            ("application/json", true, false),
            ("Text/Event-Stream", true, false),
            ("text/html", false, false),
            ("application/grpc", false, true),
            ("Application/gRPC+proto", false, true),
            ("application/grpc-web", false, false),
            ("", false, false),
        ] {
            let media_type = media_type.as_bytes();
            assert_eq!(chat.answers_with(media_type), by_chat, "{media_type:?}");
            assert_eq!(grpc.answers_with(media_type), by_grpc, "{media_type:?}");
        }
    }

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
            ("/generate", ApiKind::SglangGenerate),
            ("/generate/?x=1", ApiKind::SglangGenerate),
            ("/v1/generate", ApiKind::Opaque),
            (
                "/vllm.grpc.engine.VllmEngine/Generate",
                ApiKind::VllmGrpcGenerate,
            ),
            ("/vllm.grpc.engine.VllmEngine/Embed", ApiKind::VllmGrpcEmbed),
            ("/vllm.grpc.engine.VllmEngine/Abort", ApiKind::Opaque),
            (
                "/google.cloud.aiplatform.v1beta1.PredictionService/ChatCompletions",
                ApiKind::VertexChat,
            ),
            (
                "/google.cloud.aiplatform.v1.PredictionService/StreamRawPredict",
                ApiKind::VertexStreamRawPredict,
            ),
            ("/PredictionService/RawPredict", ApiKind::VertexRawPredict),
            ("/MyPredictionService/RawPredict", ApiKind::Opaque),
            ("/a.PredictionService/Predict", ApiKind::Opaque),
            ("/v1.completions", ApiKind::Opaque),
            ("/v1/models", ApiKind::Opaque),
            ("/", ApiKind::Opaque),
            ("", ApiKind::Opaque),
        ] {
            assert_eq!(ApiKind::from_path(path), kind, "{path}");
        }
    }
}
