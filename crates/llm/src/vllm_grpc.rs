//! vLLM's gRPC service `vllm.grpc.engine.VllmEngine`.

use std::ops::Range;

use smallvec::smallvec;

use crate::api_kind::ApiKind;
use crate::grpc;
use crate::parse::ParseError;
use crate::prompt::{Prompt, Prompts};
use crate::protobuf::{self, Malformed, Value};
use crate::usage::Usage;

/// What a request says that a pick can use. The protocol knows no model.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) prompts: Prompts,
    pub(crate) stream: bool,
    pub(crate) max_tokens: Option<u64>,
}

/// Input of a request. Of several the last counts, but parts of one message add up.
#[derive(Debug, Default)]
enum Input {
    #[default]
    Absent,
    Text(Range<usize>),
    Tokens(Vec<u32>),
}

// === impl Request ===

impl Request {
    /// Reads the first message of `body` as a request to the method `kind`.
    pub(crate) fn read(kind: ApiKind, body: &[u8]) -> Result<Self, ParseError> {
        let message = grpc::first_message(body).map_err(|_| ParseError::Frame)?;
        let embeds = kind == ApiKind::VllmGrpcEmbed;
        let name = if embeds {
            "EmbedRequest"
        } else {
            "GenerateRequest"
        };
        let read = if embeds { Self::embed } else { Self::generate };
        let (input, mut request) =
            read(body, message).map_err(|Malformed| ParseError::Protobuf { message: name })?;
        let prompt = match input {
            Input::Text(range) => Prompt::Text(smallvec![range]),
            Input::Tokens(ids) => Prompt::Tokens(ids),
            Input::Absent if embeds => return Err(ParseError::MissingTokens),
            Input::Absent => return Err(ParseError::InputType),
        };
        request.prompts = Prompts::from_iter([prompt]);
        Ok(request)
    }

    fn generate(body: &[u8], message: Range<usize>) -> Result<(Input, Self), Malformed> {
        let (mut input, mut request) = (Input::Absent, Self::default());
        let mut nested = Ok(());
        protobuf::fields(body, message, |number, value| match (number, value) {
            (2, Value::Bytes(range)) => nested = nested.and_then(|()| input.add(body, range)),
            (3, Value::Bytes(range)) => input = Input::Text(range),
            (4, Value::Bytes(range)) => {
                let max_tokens = &mut request.max_tokens;
                let read = protobuf::fields(body, range, |number, value| {
                    if let (8, Value::Number(most)) = (number, value) {
                        *max_tokens = Some(u64::from(most as u32));
                    }
                });
                nested = nested.and(read);
            }
            (5, Value::Number(stream)) => request.stream = stream != 0,
            _ => {}
        })?;
        nested.map(|()| (input, request))
    }

    fn embed(body: &[u8], message: Range<usize>) -> Result<(Input, Self), Malformed> {
        let (mut input, mut nested) = (Input::Absent, Ok(()));
        protobuf::fields(body, message, |number, value| {
            if let (2, Value::Bytes(range)) = (number, value) {
                nested = nested.and_then(|()| input.add(body, range));
            }
        })?;
        nested.map(|()| (input, Self::default()))
    }
}

// === impl Input ===

impl Input {
    /// Adds the token ids of the `TokenizedInput` at `at`.
    fn add(&mut self, body: &[u8], at: Range<usize>) -> Result<(), Malformed> {
        let mut ids = match std::mem::take(self) {
            Self::Tokens(ids) => ids,
            Self::Absent | Self::Text(_) => Vec::new(),
        };
        let mut read = Ok(());
        protobuf::fields(body, at, |number, value| match (number, value) {
            (2, Value::Bytes(packed)) => {
                read = read.and_then(|()| protobuf::packed(body, packed, &mut ids));
            }
            (2, Value::Number(id)) => ids.push(id as u32),
            _ => {}
        })?;
        *self = Self::Tokens(ids);
        read
    }
}

/// The usage of a message of a response of the method `kind`. Counts are totals so far.
pub(crate) fn usage(kind: ApiKind, message: &[u8]) -> Option<Usage> {
    let mut usage = Usage::default();
    let read = protobuf::fields(message, 0..message.len(), |number, value| {
        match (kind, number, value) {
            (ApiKind::VllmGrpcEmbed, 2, Value::Number(prompt)) => usage.prompt = count(prompt),
            (ApiKind::VllmGrpcGenerate, 1, Value::Bytes(chunk)) => {
                usage.merge(counts(message, chunk, 2));
            }
            (ApiKind::VllmGrpcGenerate, 2, Value::Bytes(complete)) => {
                usage.merge(counts(message, complete, 3));
            }
            _ => {}
        }
    });
    let counted = usage.prompt.is_some() || usage.completion.is_some();
    (read.is_ok() && counted).then_some(usage)
}

/// Prompt, completion and cached tokens, which stand in this order from the field `first` on.
fn counts(message: &[u8], at: Range<usize>, first: u64) -> Usage {
    let mut usage = Usage::default();
    let read = protobuf::fields(message, at, |number, value| {
        let Value::Number(tokens) = value else { return };
        match number.checked_sub(first) {
            Some(0) => usage.prompt = count(tokens),
            Some(1) => usage.completion = count(tokens),
            Some(2) => usage.cached = count(tokens),
            _ => {}
        }
    });
    read.map(|()| usage).unwrap_or_default()
}

/// A count; 0 is how the format writes that there is none.
fn count(tokens: u64) -> Option<u64> {
    Some(u64::from(tokens as u32)).filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests;
