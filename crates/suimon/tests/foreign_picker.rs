//! A pool whose picker is somebody else's: what the picker is told, and what it may change.

#![expect(clippy::panic, reason = "a test fails by it, in its helpers too")]

use std::net::SocketAddr;
use std::sync::Mutex;

use suimon_extproc::message::{
    BodyMode, BodyMutation, CommonResponse, HeaderMutation, HttpHeaders, Part, ProcessingRequest,
    ProcessingResponse, Reply,
};
use suimon_testkit::fake_picker::{chunk, picked, well_behaved};
use suimon_testkit::{
    Act, Answer, FakePicker, FakeServer, Gateway, assert_eventually, chat_body, documents, get,
    post,
};

const BINARY: &str = env!("CARGO_BIN_EXE_suimon");

fn gateway(servers: &[&FakeServer], picker: SocketAddr) -> Gateway {
    let spec = "endpointPickerRef: {name: epp, port: {number: 80}}";
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    let pool = documents::pool("models", &addresses, spec);
    let plain = "metadata: {name: models, annotations: {suimon.dev/picker-tls: plaintext}}";
    let pool = pool.replacen("metadata: {name: models}", plain, 1);
    let (route, service) = (
        documents::route_to_pool("models"),
        documents::service("epp", &[picker]),
    );
    Gateway::start(
        BINARY,
        &[documents::GATEWAY, &route, &pool, &service].concat(),
    )
}

fn value(head: &HttpHeaders, name: &str) -> String {
    let value = head.get(name).unwrap_or_else(|| panic!("{name} is there"));
    String::from_utf8_lossy(value).into_owned()
}

fn say(reply: Reply) -> Act {
    Act::Say(ProcessingResponse::of(reply))
}

/// Parts of one exchange, by kind.
fn kinds(heard: &[ProcessingRequest]) -> Vec<&'static str> {
    let kind = |message: &ProcessingRequest| match message.part {
        Some(Part::RequestHeaders(_)) => "request headers",
        Some(Part::RequestBody(_)) => "request body",
        Some(Part::RequestTrailers(_)) => "request trailers",
        Some(Part::ResponseHeaders(_)) => "response headers",
        Some(Part::ResponseBody(_)) => "response body",
        Some(Part::ResponseTrailers(_)) => "response trailers",
        None => "nothing",
    };
    let mut kinds: Vec<_> = heard.iter().map(kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn it_is_told_everything_and_who_served() {
    let server = FakeServer::start(|_| Answer::json("{\"ok\":true}"));
    let picker = FakePicker::picking(server.address.to_string());
    let gateway = gateway(&[&server], picker.address);
    let body = chat_body("llama", &["hello"]);
    let spoofed = "x-gateway-destination-endpoint: 10.0.0.1:1\r\nx-tenant: a\r\n";
    let answer = gateway.ask(post("/v1/chat/completions?trace=1", &body, spoofed));
    assert_eq!(
        (answer.status(), answer.text().as_str()),
        (200, "{\"ok\":true}")
    );
    assert_eq!(server.last().body, body.as_bytes());
    assert_eq!(
        server.last().header("x-gateway-destination-endpoint"),
        Some(server.address.to_string().as_str())
    );
    let heard = picker.heard();
    let want = [
        "request headers",
        "request body",
        "response headers",
        "response body",
    ];
    assert_eq!(kinds(&heard), want);
    let Some(Part::RequestHeaders(head)) = &heard[0].part else {
        panic!("{heard:?}")
    };
    assert_eq!(value(head, ":method"), "POST");
    assert_eq!(value(head, ":path"), "/v1/chat/completions?trace=1");
    assert_eq!(value(head, ":authority"), "gateway.test");
    assert_eq!(value(head, "x-tenant"), "a");
    assert_eq!(value(head, "content-length"), body.len().to_string());
    assert_eq!(value(head, "x-request-id"), answer.need("x-request-id"));
    assert!(head.get("x-gateway-destination-endpoint").is_none());
    let modes = heard[0].protocol.unwrap();
    assert_eq!(modes.request_body, BodyMode::FULL_DUPLEX_STREAMED);
    assert_eq!(modes.response_body, BodyMode::FULL_DUPLEX_STREAMED);
    let response = heard
        .iter()
        .find(|message| matches!(message.part, Some(Part::ResponseHeaders(_))))
        .unwrap();
    let Some(Part::ResponseHeaders(head)) = &response.part else {
        panic!("{response:?}")
    };
    assert_eq!(value(head, ":status"), "200");
    let served = response.metadata.as_ref().unwrap();
    let served = served.get("envoy.lb", "x-gateway-destination-endpoint-served");
    assert_eq!(
        served.unwrap().as_text(),
        Some(server.address.to_string().as_str())
    );
    assert_eventually("its stream ends", || picker.open() == 0);
}

#[test]
fn the_next_of_its_list_serves_when_the_first_is_dead() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let dead = FakeServer::start(|_| Answer::json("{}"));
    let gone: SocketAddr = ([127, 0, 0, 1], suimon_testkit::ports::free_port()).into();
    let picker = FakePicker::picking(format!("{gone},{}", server.address));
    let spec = "endpointPickerRef: {name: epp, port: {number: 80}}";
    let pool = documents::pool("models", &[dead.address, gone, server.address], spec).replacen(
        "metadata: {name: models}",
        "metadata: {name: models, annotations: {suimon.dev/picker-tls: plaintext}}",
        1,
    );
    let (route, service) = (
        documents::route_to_pool("models"),
        documents::service("epp", &[picker.address]),
    );
    let gateway = Gateway::start(
        BINARY,
        &[documents::GATEWAY, &route, &pool, &service].concat(),
    );
    assert_eq!(gateway.chat("llama", &["hello"]).status(), 200);
    assert_eq!((server.requests().len(), dead.requests().len()), (1, 0));
    let heard = picker.heard();
    let served = heard
        .iter()
        .find_map(|message| message.metadata.as_ref())
        .unwrap();
    let served = served.get("envoy.lb", "x-gateway-destination-endpoint-served");
    assert_eq!(
        served.unwrap().as_text(),
        Some(server.address.to_string().as_str())
    );
}

#[test]
fn a_request_without_a_body_is_picked_for_too() {
    let server = FakeServer::start(|_| Answer::json("{\"data\":[]}"));
    let picker = FakePicker::picking(server.address.to_string());
    let gateway = gateway(&[&server], picker.address);
    assert_eq!(gateway.ask(get("/v1/models", "")).text(), "{\"data\":[]}");
    let Some(Part::RequestHeaders(head)) = &picker.heard()[0].part else {
        panic!("no head")
    };
    assert!(head.end_of_stream);
}

/// A picker that renames the model on both ways, sets a header each way, and changes the status.
#[test]
fn it_may_change_head_and_body_both_ways() {
    let server = FakeServer::start(|_| Answer::json("{\"model\":\"llama-v2\"}"));
    let destination = server.address.to_string();
    let held = Mutex::default();
    let picker = FakePicker::start(move |part| match part {
        Part::RequestBody(body) if body.end_of_stream => {
            let mut common = CommonResponse::default();
            common.headers.set("x-prefiller-host-port", "10.0.0.7:8000");
            common
                .headers
                .set("x-gateway-destination-endpoint", destination.clone());
            common.headers.set(":path", "/elsewhere");
            common.headers.remove("x-tenant");
            let renamed = chunk("{\"model\":\"llama-v2\"}", true);
            vec![
                say(Reply::RequestHeaders(common)),
                say(Reply::RequestBody(renamed)),
            ]
        }
        Part::ResponseHeaders(_) => {
            let mut common = CommonResponse::default();
            common.headers.set("x-seen", "yes");
            common.headers.remove("server");
            vec![say(Reply::ResponseHeaders(common))]
        }
        Part::ResponseBody(body) if !body.end_of_stream => Vec::new(),
        Part::ResponseBody(_) => {
            let renamed = chunk("{\"model\":\"a much longer name\"}", true);
            vec![say(Reply::ResponseBody(renamed))]
        }
        other => well_behaved(&destination, &held, other),
    });
    let gateway = gateway(&[&server], picker.address);
    let answer = gateway.ask(post(
        "/v1/chat/completions",
        "{\"model\":\"llama\"}",
        "x-tenant: a\r\n",
    ));
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.text(), "{\"model\":\"a much longer name\"}");
    assert_eq!(answer.header("x-seen"), Some("yes"));
    let request = server.last();
    assert_eq!(request.body, b"{\"model\":\"llama-v2\"}");
    assert_eq!(request.path(), "/v1/chat/completions", "it may not reroute");
    assert_eq!(
        request.header("x-prefiller-host-port"),
        Some("10.0.0.7:8000")
    );
    assert_eq!(request.header("x-tenant"), None);
    assert_eq!(request.need("content-length"), "20");
}

#[test]
fn trailers_go_through_it() {
    let server = FakeServer::start(|_| {
        Answer::new()
            .send(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntrailer: x-sum\r\n\
                 transfer-encoding: chunked\r\n\r\n",
            )
            .chunk("abc")
            .send("0\r\nx-sum: 7\r\n\r\n")
    });
    let destination = server.address.to_string();
    let held = Mutex::default();
    let picker = FakePicker::start(move |part| match part {
        Part::ResponseTrailers(_) => {
            let mut changes = HeaderMutation::default();
            changes.set("x-sum", "8");
            vec![say(Reply::ResponseTrailers(changes))]
        }
        other => well_behaved(&destination, &held, other),
    });
    let gateway = gateway(&[&server], picker.address);
    let answer = gateway.ask(post("/v1/chat/completions", "{}", "te: trailers\r\n"));
    assert_eq!(answer.text(), "abc");
    assert_eq!(answer.trailers, [("x-sum".to_owned(), "8".to_owned())]);
}

#[test]
fn a_client_that_leaves_ends_the_picker_s_stream() {
    let server = FakeServer::start(|_| Answer::event_stream().chunk("data: 1\n\n").stall());
    let picker = FakePicker::picking(server.address.to_string());
    let gateway = gateway(&[&server], picker.address);
    let mut client = gateway.client();
    client.send(post(
        "/v1/chat/completions",
        &chat_body("llama", &["hello"]),
        "",
    ));
    assert_eq!(client.head().unwrap().status(), 200);
    assert_eq!(client.chunk().unwrap(), b"data: 1\n\n");
    assert_eq!(picker.open(), 1);
    drop(client);
    assert_eventually("the picker's stream ends", || picker.open() == 0);
    assert_eventually("the endpoint is told", || !server.closed().is_empty());
}

/// A picker that comes back on the same address is found again without a failed request.
#[test]
fn connections_that_the_picker_closed_are_replaced() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let picker = FakePicker::picking(server.address.to_string());
    let gateway = gateway(&[&server], picker.address);
    for _ in 0..20 {
        assert_eq!(gateway.chat("llama", &["hello"]).status(), 200);
        picker.close_connections();
    }
    assert_eq!(server.requests().len(), 20);
}

/// The limit of gRPC libraries is 4 MiB a message; that of the gateway counts.
#[test]
fn a_body_of_many_megabytes_comes_back_in_one_message() {
    let server = FakeServer::start(|_| Answer::json("{}"));
    let destination = server.address.to_string();
    let held = Mutex::default();
    let large = "x".repeat(5 << 20);
    let body = bytes::Bytes::from(large.clone());
    let picker = FakePicker::start(move |part| match part {
        Part::RequestBody(chunk) if chunk.end_of_stream => {
            let replaced = CommonResponse {
                body: Some(BodyMutation::Replace(body.clone())),
                ..CommonResponse::default()
            };
            vec![picked(&destination), say(Reply::RequestBody(replaced))]
        }
        other => well_behaved(&destination, &held, other),
    });
    let gateway = gateway(&[&server], picker.address);
    assert_eq!(
        gateway.ask(post("/v1/chat/completions", "{}", "")).status(),
        200
    );
    assert!(server.last().body == large.as_bytes());
}
