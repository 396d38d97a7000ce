//! Headers that end at the gateway, and those that only it may set.

mod support;

use support::{Fake, Gateway, get};

#[test]
fn hop_by_hop_headers_end_here() {
    let fake = Fake::new(|_| {
        b"HTTP/1.1 200 OK\r\nconnection: keep-alive, x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nx-a: 1\r\ncontent-length: 2\r\n\r\nok".to_vec()
    });
    let gateway = Gateway::pool(&[&fake]);
    let response = gateway.ask(get(
        "/",
        "connection: x-internal-auth, te\r\nx-internal-auth: 1\r\nte: trailers, gzip\r\ntrailer: x-t\r\nproxy-connection: keep-alive\r\nupgrade: h2c\r\nkeep-alive: 5\r\nauthorization: Bearer x\r\n",
    ));
    assert_eq!(response.all("x-a"), ["1"]);
    for name in ["x-hop", "keep-alive", "connection"] {
        assert_eq!(response.header(name), None, "{name}");
    }
    let request = fake.last();
    for name in [
        "connection",
        "x-internal-auth",
        "trailer",
        "proxy-connection",
        "upgrade",
        "keep-alive",
    ] {
        assert_eq!(request.header(name), None, "{name}");
    }
    assert_eq!(request.all("te"), ["trailers"]);
    assert_eq!(request.all("authorization"), ["Bearer x"]);
}

#[test]
fn connection_cannot_remove_what_matters() {
    let fake = Fake::text("{}");
    let gateway = Gateway::pool(&[&fake]);
    for name in ["Host", "Authorization", "close, Content-Length"] {
        assert_eq!(
            gateway
                .ask(get("/", &format!("connection: {name}\r\n")))
                .status(),
            400
        );
    }
    assert!(fake.seen().is_empty());
}

#[test]
fn control_headers_of_clients_are_removed() {
    let fake = Fake::text("{}");
    let owned = [
        "X-Gateway-Destination-Endpoint: 169.254.169.254:80",
        "x-gateway-destination-endpoint: 169.254.169.254:80, 10.0.0.1:1",
        "x-gateway-destination-endpoint-served: x",
        "x-gateway-destination-endpoint-subset: 10.9.9.9",
        "X-Gateway-Model-Name: other",
        "x-gateway-base-model-name: other",
        "x-llm-d-request-dropped-reason: x",
        "x-prefiller-host-port: 10.9.9.9:1",
        "x-encoder-hosts-ports: 10.9.9.9:1",
        "x-data-parallel-host-port: 10.9.9.9:1",
        "x-kv-cache-source-host-port: 10.9.9.9:1",
    ];
    let kept = "x-gateway-inference-objective: high\r\ntest-epp-endpoint-selection: a\r\n";
    let lines = format!("{}\r\n{kept}", owned.join("\r\n"));
    for gateway in [Gateway::pool(&[&fake]), Gateway::service(&[&fake])] {
        assert_eq!(gateway.ask(get("/", &lines)).status(), 200);
        let request = fake.last();
        for line in owned {
            let name = line.split(':').next().unwrap().to_ascii_lowercase();
            let ours = fake.address.to_string();
            let left = request.all(&name);
            assert!(
                left.is_empty() || left == [ours.as_str()],
                "{name}: {left:?}"
            );
        }
        assert_eq!(request.all("x-gateway-inference-objective"), ["high"]);
        assert_eq!(request.all("test-epp-endpoint-selection"), ["a"]);
    }
}
