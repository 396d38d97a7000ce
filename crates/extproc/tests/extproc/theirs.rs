//! The same messages as generated code has them.

pub(crate) mod ours;

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3 as core;
use envoy_types::pb::envoy::extensions::filters::http::ext_proc::v3::ProcessingMode as TheirMode;
use envoy_types::pb::envoy::service::ext_proc::v3 as pb;
use envoy_types::pb::envoy::r#type::v3::HttpStatus;
use envoy_types::pb::google::protobuf::{self as google, BoolValue};
use pb::processing_request::Request as TheirPart;
use pb::processing_response::Response as TheirReply;
use suimon_extproc::message as our;

pub(crate) use core::HeaderValue;
pub(crate) use pb::{ProcessingRequest as Request, ProcessingResponse as Response};

pub(crate) fn part_of_headers(headers: Vec<HeaderValue>) -> TheirPart {
    TheirPart::RequestHeaders(pb::HttpHeaders {
        headers: Some(core::HeaderMap { headers }),
        ..pb::HttpHeaders::default()
    })
}

fn header(header: &our::Header) -> HeaderValue {
    HeaderValue {
        key: header.name.clone(),
        value: String::new(),
        raw_value: header.value.to_vec(),
    }
}

fn headers(list: &[our::Header]) -> Option<core::HeaderMap> {
    Some(core::HeaderMap {
        headers: list.iter().map(header).collect(),
    })
}

fn http_headers(head: &our::HttpHeaders) -> pb::HttpHeaders {
    pb::HttpHeaders {
        headers: headers(&head.headers),
        end_of_stream: head.end_of_stream,
        ..pb::HttpHeaders::default()
    }
}

fn http_body(body: &our::HttpBody) -> pb::HttpBody {
    pb::HttpBody {
        body: body.body.to_vec(),
        end_of_stream: body.end_of_stream,
        ..pb::HttpBody::default()
    }
}

fn http_trailers(trailers: &our::HttpTrailers) -> pb::HttpTrailers {
    pb::HttpTrailers {
        trailers: headers(&trailers.trailers),
    }
}

fn value(value: &our::Value) -> google::Value {
    use google::value::Kind;
    let kind = match value {
        our::Value::Null => Kind::NullValue(0),
        our::Value::Number(number) => Kind::NumberValue(*number),
        our::Value::Text(text) => Kind::StringValue(text.clone()),
        our::Value::Bool(truth) => Kind::BoolValue(*truth),
        our::Value::Struct(fields) => Kind::StructValue(structure(fields)),
        our::Value::List(values) => Kind::ListValue(google::ListValue {
            values: values.iter().map(self::value).collect(),
        }),
    };
    google::Value { kind: Some(kind) }
}

fn structure(fields: &our::Struct) -> google::Struct {
    let fields = fields.0.iter();
    google::Struct {
        fields: fields.map(|(name, v)| (name.clone(), value(v))).collect(),
    }
}

fn metadata(metadata: &our::Metadata) -> core::Metadata {
    let namespaces = metadata.filter.iter();
    core::Metadata {
        filter_metadata: namespaces
            .map(|(name, fields)| (name.clone(), structure(fields)))
            .collect(),
        typed_filter_metadata: HashMap::new(),
    }
}

pub(crate) fn request(request: &our::ProcessingRequest) -> Request {
    let part = request.part.as_ref().map(|part| match part {
        our::Part::RequestHeaders(head) => TheirPart::RequestHeaders(http_headers(head)),
        our::Part::ResponseHeaders(head) => TheirPart::ResponseHeaders(http_headers(head)),
        our::Part::RequestBody(body) => TheirPart::RequestBody(http_body(body)),
        our::Part::ResponseBody(body) => TheirPart::ResponseBody(http_body(body)),
        our::Part::RequestTrailers(t) => TheirPart::RequestTrailers(http_trailers(t)),
        our::Part::ResponseTrailers(t) => TheirPart::ResponseTrailers(http_trailers(t)),
    });
    Request {
        metadata_context: request.metadata.as_ref().map(metadata),
        observability_mode: request.observability,
        protocol_config: request.protocol.map(|config| pb::ProtocolConfiguration {
            request_body_mode: config.request_body.0.cast_signed(),
            response_body_mode: config.response_body.0.cast_signed(),
            send_body_without_waiting_for_header_response: config.body_without_waiting,
        }),
        request: part,
        ..Request::default()
    }
}

#[expect(deprecated, reason = "peers may still send what is deprecated")]
fn set(set: &our::SetHeader) -> core::HeaderValueOption {
    core::HeaderValueOption {
        header: Some(header(&set.header)),
        append: set.append.map(|value| BoolValue { value }),
        append_action: set.action.0.cast_signed(),
        ..core::HeaderValueOption::default()
    }
}

fn mutation(mutation: &our::HeaderMutation) -> Option<pb::HeaderMutation> {
    Some(pb::HeaderMutation {
        set_headers: mutation.set.iter().map(set).collect(),
        remove_headers: mutation.remove.clone(),
    })
}

fn body_mutation(body: &our::BodyMutation) -> pb::BodyMutation {
    use pb::body_mutation::Mutation;
    let mutation = match body {
        our::BodyMutation::Replace(body) => Mutation::Body(body.to_vec()),
        our::BodyMutation::Clear(clear) => Mutation::ClearBody(*clear),
        our::BodyMutation::Streamed(chunk) => {
            Mutation::StreamedResponse(pb::StreamedBodyResponse {
                body: chunk.body.to_vec(),
                end_of_stream: chunk.end_of_stream,
                ..pb::StreamedBodyResponse::default()
            })
        }
    };
    pb::BodyMutation {
        mutation: Some(mutation),
    }
}

fn common(common: &our::CommonResponse) -> Option<pb::CommonResponse> {
    Some(pb::CommonResponse {
        status: common.status.0.cast_signed(),
        header_mutation: mutation(&common.headers),
        body_mutation: common.body.as_ref().map(body_mutation),
        trailers: headers(&common.trailers),
        clear_route_cache: common.clear_route_cache,
    })
}

fn reply(reply: &our::Reply) -> TheirReply {
    let head = |response| pb::HeadersResponse { response };
    let body = |response| pb::BodyResponse { response };
    let trailers = |header_mutation| pb::TrailersResponse { header_mutation };
    match reply {
        our::Reply::RequestHeaders(c) => TheirReply::RequestHeaders(head(common(c))),
        our::Reply::ResponseHeaders(c) => TheirReply::ResponseHeaders(head(common(c))),
        our::Reply::RequestBody(c) => TheirReply::RequestBody(body(common(c))),
        our::Reply::ResponseBody(c) => TheirReply::ResponseBody(body(common(c))),
        our::Reply::RequestTrailers(m) => TheirReply::RequestTrailers(trailers(mutation(m))),
        our::Reply::ResponseTrailers(m) => TheirReply::ResponseTrailers(trailers(mutation(m))),
        our::Reply::Immediate(i) => TheirReply::ImmediateResponse(pb::ImmediateResponse {
            status: Some(HttpStatus {
                code: i.status.cast_signed(),
            }),
            headers: mutation(&i.headers),
            body: i.body.to_vec(),
            grpc_status: i.grpc_status.map(|status| pb::GrpcStatus { status }),
            details: i.details.clone(),
        }),
    }
}

pub(crate) fn response(response: &our::ProcessingResponse) -> Response {
    Response {
        dynamic_metadata: response.dynamic_metadata.as_ref().map(structure),
        mode_override: response.mode_override.map(|mode| TheirMode {
            request_header_mode: mode.request_headers.0.cast_signed(),
            response_header_mode: mode.response_headers.0.cast_signed(),
            request_body_mode: mode.request_body.0.cast_signed(),
            response_body_mode: mode.response_body.0.cast_signed(),
            request_trailer_mode: mode.request_trailers.0.cast_signed(),
            response_trailer_mode: mode.response_trailers.0.cast_signed(),
        }),
        response: response.reply.as_ref().map(reply),
        ..Response::default()
    }
}

/// A message that is absent means the same as one without fields: made absent.
pub(crate) fn normal(mut response: Response) -> Response {
    let changes = |mutation: &mut Option<pb::HeaderMutation>| {
        if *mutation == Some(pb::HeaderMutation::default()) {
            *mutation = None;
        }
    };
    let common = |common: &mut Option<pb::CommonResponse>| {
        if let Some(common) = common {
            changes(&mut common.header_mutation);
            if common.trailers == Some(core::HeaderMap::default()) {
                common.trailers = None;
            }
        }
    };
    match &mut response.response {
        Some(TheirReply::RequestHeaders(h) | TheirReply::ResponseHeaders(h)) => {
            common(&mut h.response);
        }
        Some(TheirReply::RequestBody(b) | TheirReply::ResponseBody(b)) => common(&mut b.response),
        Some(TheirReply::RequestTrailers(t) | TheirReply::ResponseTrailers(t)) => {
            changes(&mut t.header_mutation);
        }
        Some(TheirReply::ImmediateResponse(i)) => changes(&mut i.headers),
        _ => {}
    }
    response
}
