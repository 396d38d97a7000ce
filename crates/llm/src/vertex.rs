//! Vertex AI's gRPC service `google.cloud.aiplatform.v1beta1.PredictionService`, as far as its methods
//! carry JSON of OpenAI's APIs in a `google.api.HttpBody`.

use std::ops::Range;

use bytes::Bytes;

use crate::api_kind::ApiKind;
use crate::fields::Fields;
use crate::grpc;
use crate::parse::ParseError;
use crate::protobuf::{self, Malformed, Value};

/// An `HttpBody`: what kind of content it is, and where.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpBody {
    pub(crate) content_type: Range<usize>,
    pub(crate) data: Range<usize>,
}

// === impl HttpBody ===

impl HttpBody {
    /// Reads the message at `at` in `body`.
    pub(crate) fn read(body: &[u8], at: Range<usize>) -> Result<Self, Malformed> {
        let mut read = Self::default();
        read.merge(body, at)?;
        Ok(read)
    }

    fn merge(&mut self, body: &[u8], at: Range<usize>) -> Result<(), Malformed> {
        protobuf::fields(body, at, |number, value| match (number, value) {
            (1, Value::Bytes(content_type)) => self.content_type = content_type,
            (2, Value::Bytes(data)) => self.data = data,
            _ => {}
        })
    }
}

/// Name of the message that the method `kind` takes.
pub(crate) const fn message_of(kind: ApiKind) -> &'static str {
    match kind {
        ApiKind::VertexChat => "ChatCompletionsRequest",
        ApiKind::VertexStreamRawPredict => "StreamRawPredictRequest",
        _ => "RawPredictRequest",
    }
}

/// The JSON inside of `body`, a request to the method `kind` of Vertex AI.
///
/// # Errors
/// [`ParseError`] if there is no message that can be read, or no JSON object in it.
pub fn vertex_json(kind: ApiKind, body: &Bytes) -> Result<Fields, ParseError> {
    let message = message_of(kind);
    let at = grpc::first_message(body)?;
    let mut http_body = None;
    let mut nested = Ok(());
    let read = protobuf::fields(body, at, |number, value| {
        if let (2, Value::Bytes(range)) = (number, value) {
            let inside = http_body.get_or_insert_with(HttpBody::default);
            nested = nested.and_then(|()| inside.merge(body, range));
        }
    });
    read.and(nested)
        .map_err(|Malformed| ParseError::Protobuf { message })?;
    let http_body = http_body.ok_or(ParseError::NoHttpBody { message })?;
    Fields::scan(body.slice(http_body.data)).map_err(|error| ParseError::Inside {
        message,
        error: Box::new(error.into()),
    })
}

#[cfg(test)]
mod tests;
