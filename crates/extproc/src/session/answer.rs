//! A decision as replies to the proxy.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH};
use suimon_llm::{Restore, splice};
use suimon_picker::{Decision, control, request_id};

use super::intake::Pending;
use super::response::{LOAD_BALANCING, Response};
use super::settings::{Destinations, Settings};
use super::{At, Replies, trailers_reply};
use crate::message::{
    BodyMutation, CommonResponse, HeaderMutation, ProcessingResponse, ProtocolConfig, Reply,
    StreamedBody, Struct, Value,
};

/// Most bytes of a body in one reply. Proxies refuse more than 64 KiB; the peers keep to this.
pub const BODY_PIECE: usize = 62_000;

/// Replies to the request. Gives the way back.
pub(super) fn answer(
    mut pending: Pending,
    decision: Decision,
    settings: &Settings,
    modes: &ProtocolConfig,
    out: &mut Replies,
) -> Response {
    let changed = changed(&pending, &decision);
    let restore = restore(&decision);
    let destination = destination(&decision, settings.destinations);
    let mut common = CommonResponse {
        headers: headers(&pending, &decision, &destination),
        clear_route_cache: true,
        ..CommonResponse::default()
    };
    if let Some(body) = changed.as_ref().filter(|_| pending.has_length) {
        let length = body.len().to_string();
        common.headers.set(CONTENT_LENGTH.as_str(), length);
    }
    if restore.is_some() {
        // Names can only be put back into a response that can be read.
        common.headers.remove(ACCEPT_ENCODING.as_str());
    }
    let owed = pending.owed;
    let share = std::mem::replace(&mut pending.share, settings.budget.share());
    carry(pending, common, changed, &destination, out);
    let response = Response::of(decision, restore, settings, modes, (owed, share));
    for _ in 0..owed.bodies {
        response.request_body_now(out);
    }
    if owed.trailers {
        out.push(ProcessingResponse::of(Reply::RequestTrailers(
            trailers_reply(),
        )));
    }
    response
}

/// Puts the answer on whatever is to carry it, followed by the body.
fn carry(
    pending: Pending,
    mut common: CommonResponse,
    changed: Option<Bytes>,
    destination: &str,
    out: &mut Replies,
) {
    let reply = match pending.at {
        At::Body { .. } => {
            common.body = changed.clone().map(BodyMutation::Replace);
            Reply::RequestBody(common)
        }
        At::Headers { .. } | At::End { .. } => Reply::RequestHeaders(common),
    };
    let key = control::DESTINATION;
    let named = Struct::of(key.as_str(), Value::Text(destination.to_owned()));
    out.push(ProcessingResponse {
        reply: Some(reply),
        dynamic_metadata: Some(Struct::of(LOAD_BALANCING, Value::Struct(named))),
        mode_override: None,
    });
    if let At::End { trailers } = pending.at {
        let body = changed.unwrap_or(pending.body);
        if !(trailers && body.is_empty()) {
            pieces(body, !trailers, Reply::RequestBody, out);
        }
        if trailers {
            let reply = Reply::RequestTrailers(trailers_reply());
            out.push(ProcessingResponse::of(reply));
        }
    }
}

/// Changes to the request's headers, other than those that a new body brings.
fn headers(pending: &Pending, decision: &Decision, destination: &str) -> HeaderMutation {
    let mut headers = HeaderMutation::default();
    headers.set(control::DESTINATION.as_str(), destination.to_owned());
    if let Some(id) = &pending.new_id {
        headers.set(
            request_id::HEADER.as_str(),
            Bytes::copy_from_slice(id.as_bytes()),
        );
    }
    headers.set_all(&decision.set_headers);
    let removed = decision.remove_headers.iter().map(|name| name.as_str());
    let injected = pending.injected.iter().map(String::as_str);
    for name in removed.chain(injected) {
        // Not all proxies remove before they set.
        let is_set = headers.set.iter().any(|set| set.header.name == name);
        if !is_set {
            headers.remove(name);
        }
    }
    headers
}

/// The endpoints as the proxy is told, best first.
fn destination(decision: &Decision, destinations: Destinations) -> String {
    let count = match destinations {
        Destinations::Chosen => decision.chosen.max(1),
        Destinations::All => decision.endpoints.len(),
    };
    let mut text = String::new();
    for endpoint in decision.endpoints.iter().take(count) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(endpoint.authority());
    }
    text
}

/// The body that is sent on, if it is not what came: the picker's own, or with the target model.
fn changed(pending: &Pending, decision: &Decision) -> Option<Bytes> {
    if matches!(pending.at, At::Headers { .. }) {
        return None;
    }
    let body = decision.body.as_ref();
    let model = &decision.model;
    match &model.replace {
        Some(range) => Some(splice(body.unwrap_or(&pending.body), range, &model.target)),
        None => body.cloned(),
    }
}

/// What to put back into the response.
fn restore(decision: &Decision) -> Option<Restore> {
    let model = &decision.model;
    let named = model.replace.is_some() && !model.incoming.is_empty();
    named.then(|| Restore {
        target: Arc::clone(&model.target),
        incoming: Arc::clone(&model.incoming),
    })
}

/// Replies with `body` in pieces, the last of which ends the body if `end` says so. An empty body
/// is one empty piece.
pub(crate) fn pieces(
    mut body: Bytes,
    end: bool,
    reply: impl Fn(CommonResponse) -> Reply,
    out: &mut Replies,
) {
    loop {
        let piece = body.split_to(body.len().min(BODY_PIECE));
        let last = body.is_empty();
        let chunk = StreamedBody {
            body: piece,
            end_of_stream: end && last,
        };
        out.push(ProcessingResponse::of(reply(CommonResponse {
            body: Some(BodyMutation::Streamed(chunk)),
            ..CommonResponse::default()
        })));
        if last {
            return;
        }
    }
}
