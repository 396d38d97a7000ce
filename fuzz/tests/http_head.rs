//! HTTP/1.1 connections: what is let through means one thing only, however its bytes come.

use suimon_proxy::fuzzing::{Accepted, accepted};

suimon_fuzz::fuzz_target!(http_head, check);

/// Headers that must not reach an endpoint from a client.
const NEVER: [&str; 7] = [
    "transfer-encoding",
    "content-length",
    "connection",
    "upgrade",
    "expect",
    "x-gateway-destination-endpoint",
    "x-prefiller-host-port",
];

fn check(bytes: &[u8]) {
    let whole = accepted(bytes, usize::MAX);
    for request in &whole {
        means_one_thing(request);
    }
    for piece in [1 + bytes.len() / 3, 1] {
        // Byte by byte is slow for long inputs, and tells nothing new behind the first heads.
        if piece == 1 && bytes.len() > 2048 {
            continue;
        }
        let pieces = accepted(bytes, piece);
        assert_eq!(told(&whole), told(&pieces), "in pieces of {piece}");
    }
}

fn means_one_thing(request: &Accepted) {
    let Accepted { host, parts, .. } = request;
    let hosts = parts.headers.get_all("host").iter().count();
    assert!(hosts == 1 || host.is_empty(), "{parts:?}");
    assert_eq!(*host, host.to_ascii_lowercase());
    assert!(
        !host.contains(['/', '@', ' ', '\\', '?', '#', ',']),
        "{host}"
    );
    assert!(parts.uri.authority().is_none() && parts.uri.path().starts_with('/'));
    let path = parts.uri.path().to_ascii_lowercase();
    for trap in ["/../", "/./", "//", "%2f", "%5c", "%2e", "\\"] {
        assert!(!path.contains(trap), "{path}");
    }
    assert!(!path.ends_with("/.."), "{path}");
    for name in NEVER {
        assert!(!parts.headers.contains_key(name), "{name} in {parts:?}");
    }
}

fn told(requests: &[Accepted]) -> Vec<String> {
    let line = |r: &Accepted| format!("{} {} {} {:?}", r.host, r.parts.method, r.parts.uri, r.body);
    requests.iter().map(line).collect()
}

#[test]
fn good_requests_are_let_through() {
    let two = b"GET /a HTTP/1.1\r\nhost: A.test:80\r\n\r\nPOST /b HTTP/1.1\r\nhost: b\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(
        told(&accepted(two, usize::MAX)),
        ["a.test GET /a Some(0)", "b POST /b Some(2)"]
    );
    check(two);
}
