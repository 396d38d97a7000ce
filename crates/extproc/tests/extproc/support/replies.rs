//! What replies say.

use suimon_extproc::message::{
    BodyMutation, CommonResponse, HeaderMutation, ImmediateResponse, ProcessingResponse, Reply,
};

/// The kinds of replies in order, pieces of bodies joined.
pub(crate) fn kinds(replies: &[ProcessingResponse]) -> Vec<&'static str> {
    let mut kinds: Vec<_> = replies.iter().map(kind).collect();
    kinds.dedup();
    kinds
}

fn kind(response: &ProcessingResponse) -> &'static str {
    match response.reply.as_ref().unwrap() {
        Reply::RequestHeaders(_) => "request headers",
        Reply::ResponseHeaders(_) => "response headers",
        Reply::RequestBody(_) => "request body",
        Reply::ResponseBody(_) => "response body",
        Reply::RequestTrailers(_) => "request trailers",
        Reply::ResponseTrailers(_) => "response trailers",
        Reply::Immediate(_) => "immediate",
    }
}

pub(crate) fn request_headers(replies: &[ProcessingResponse]) -> &HeaderMutation {
    let mut all = replies.iter().filter_map(|r| match &r.reply {
        Some(Reply::RequestHeaders(common)) => Some(&common.headers),
        _ => None,
    });
    let found = all.next().expect("a reply to the request's headers");
    assert!(all.next().is_none(), "one reply to the request's headers");
    found
}

/// The last value that a header is set to.
pub(crate) fn value<'a>(mutation: &'a HeaderMutation, name: &str) -> Option<&'a str> {
    let mut set = mutation.set.iter().rev();
    let found = set.find(|set| set.header.name == name)?;
    assert!(found.overwrites(), "{name} is replaced");
    Some(std::str::from_utf8(&found.header.value).unwrap())
}

/// Bodies of all pieces of the request or the response, and which of them ends it.
pub(crate) fn streamed(
    replies: &[ProcessingResponse],
    of_request: bool,
) -> (Vec<u8>, Option<usize>, Vec<usize>) {
    let (mut body, mut end, mut sizes) = (Vec::new(), None, Vec::new());
    for response in replies {
        let common = match response.reply.as_ref().unwrap() {
            Reply::RequestBody(common) if of_request => common,
            Reply::ResponseBody(common) if !of_request => common,
            _ => continue,
        };
        let Some(BodyMutation::Streamed(chunk)) = &common.body else {
            panic!("not a piece: {common:?}")
        };
        assert_eq!(end, None, "nothing after the end");
        body.extend_from_slice(&chunk.body);
        if chunk.end_of_stream {
            end = Some(sizes.len());
        }
        sizes.push(chunk.body.len());
    }
    (body, end, sizes)
}

pub(crate) fn immediate(replies: &[ProcessingResponse]) -> &ImmediateResponse {
    let Some(Reply::Immediate(immediate)) = &replies.last().expect("a reply").reply else {
        panic!("no immediate response: {replies:?}")
    };
    immediate
}

pub(crate) fn common(response: &ProcessingResponse) -> &CommonResponse {
    match response.reply.as_ref().unwrap() {
        Reply::RequestHeaders(c)
        | Reply::ResponseHeaders(c)
        | Reply::RequestBody(c)
        | Reply::ResponseBody(c) => c,
        other => panic!("no common response: {other:?}"),
    }
}
