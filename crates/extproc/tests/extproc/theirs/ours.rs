//! Messages of every shape.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use suimon_extproc::message::{
    AppendAction, BodyMode, BodyMutation, CommonResponse, Header, HeaderMode, HeaderMutation,
    HttpBody, HttpHeaders, HttpTrailers, ImmediateResponse, Metadata, Part, ProcessingMode,
    ProcessingRequest, ProcessingResponse, ProtocolConfig, Reply, ReplyStatus, SetHeader,
    StreamedBody, Struct, Value,
};

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..40).prop_map(Bytes::from)
}

fn header() -> impl Strategy<Value = Header> {
    ("[:a-zé-]{0,12}", bytes()).prop_map(|(name, value)| Header { name, value })
}

fn headers() -> impl Strategy<Value = Vec<Header>> {
    vec(header(), 0..4)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (-1e12..1e12).prop_map(Value::Number),
        "[a-zé]{0,8}".prop_map(Value::Text),
        any::<bool>().prop_map(Value::Bool),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map("[a-z]{0,4}", inner, 0..2)
                .prop_map(|map| Value::Struct(Struct(map.into_iter().collect()))),
        ]
    })
}

/// At most one name, as generated code keeps maps in no order.
fn structure() -> impl Strategy<Value = Struct> {
    vec(("[a-z.]{0,6}", value()), 0..2).prop_map(Struct)
}

fn part() -> impl Strategy<Value = Part> {
    let head = (headers(), any::<bool>()).prop_map(|(headers, end_of_stream)| HttpHeaders {
        headers,
        end_of_stream,
    });
    let body = (bytes(), any::<bool>()).prop_map(|(body, end_of_stream)| HttpBody {
        body,
        end_of_stream,
    });
    let trailers = headers().prop_map(|trailers| HttpTrailers { trailers });
    let (head, trailers) = (head.boxed(), trailers.boxed());
    let body = body.boxed();
    prop_oneof![
        head.clone().prop_map(Part::RequestHeaders),
        head.prop_map(Part::ResponseHeaders),
        body.clone().prop_map(Part::RequestBody),
        body.prop_map(Part::ResponseBody),
        trailers.clone().prop_map(Part::RequestTrailers),
        trailers.prop_map(Part::ResponseTrailers),
    ]
}

pub(crate) fn request() -> impl Strategy<Value = ProcessingRequest> {
    let metadata = vec(("[a-z.]{0,8}", structure()), 0..2).prop_map(|filter| Metadata { filter });
    let protocol = (0..7_u32, 0..7_u32, any::<bool>()).prop_map(|(a, b, c)| ProtocolConfig {
        request_body: BodyMode(a),
        response_body: BodyMode(b),
        body_without_waiting: c,
    });
    (
        option::of(part()),
        option::of(metadata),
        any::<bool>(),
        option::of(protocol),
    )
        .prop_map(
            |(part, metadata, observability, protocol)| ProcessingRequest {
                part,
                metadata,
                observability,
                protocol,
            },
        )
}

fn mutation() -> impl Strategy<Value = HeaderMutation> {
    let set =
        (header(), option::of(any::<bool>()), 0..5_u32).prop_map(|(header, append, action)| {
            SetHeader {
                header,
                append,
                action: AppendAction(action),
            }
        });
    (vec(set, 0..3), vec("[a-z-]{0,8}", 0..3))
        .prop_map(|(set, remove)| HeaderMutation { set, remove })
}

fn body_mutation() -> impl Strategy<Value = BodyMutation> {
    prop_oneof![
        bytes().prop_map(BodyMutation::Replace),
        any::<bool>().prop_map(BodyMutation::Clear),
        (bytes(), any::<bool>()).prop_map(|(body, end_of_stream)| {
            BodyMutation::Streamed(StreamedBody {
                body,
                end_of_stream,
            })
        }),
    ]
}

fn common() -> impl Strategy<Value = CommonResponse> {
    (
        0..3_u32,
        mutation(),
        option::of(body_mutation()),
        headers(),
        any::<bool>(),
    )
        .prop_map(
            |(status, headers, body, trailers, clear_route_cache)| CommonResponse {
                status: ReplyStatus(status),
                headers,
                body,
                trailers,
                clear_route_cache,
            },
        )
}

fn immediate() -> impl Strategy<Value = ImmediateResponse> {
    (
        0..600_u32,
        mutation(),
        bytes(),
        option::of(0..17_u32),
        "[a-z]{0,8}",
    )
        .prop_map(
            |(status, headers, body, grpc_status, details)| ImmediateResponse {
                status,
                headers,
                body,
                grpc_status,
                details,
            },
        )
}

fn reply() -> impl Strategy<Value = Reply> {
    let (common, mutation) = (common().boxed(), mutation().boxed());
    prop_oneof![
        common.clone().prop_map(Reply::RequestHeaders),
        common.clone().prop_map(Reply::ResponseHeaders),
        common.clone().prop_map(Reply::RequestBody),
        common.prop_map(Reply::ResponseBody),
        mutation.clone().prop_map(Reply::RequestTrailers),
        mutation.prop_map(Reply::ResponseTrailers),
        immediate().prop_map(Reply::Immediate),
    ]
}

pub(crate) fn response() -> impl Strategy<Value = ProcessingResponse> {
    let mode =
        [0..3_u32, 0..3, 0..6, 0..6, 0..3, 0..3].prop_map(|[a, b, c, d, e, f]| ProcessingMode {
            request_headers: HeaderMode(a),
            response_headers: HeaderMode(b),
            request_body: BodyMode(c),
            response_body: BodyMode(d),
            request_trailers: HeaderMode(e),
            response_trailers: HeaderMode(f),
        });
    (
        option::of(reply()),
        option::of(structure()),
        option::of(mode),
    )
        .prop_map(
            |(reply, dynamic_metadata, mode_override)| ProcessingResponse {
                reply,
                dynamic_metadata,
                mode_override,
            },
        )
}
