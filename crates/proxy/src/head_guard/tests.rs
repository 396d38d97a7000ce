use super::*;

/// Whether a byte was spoilt, with the input in pieces of `step` bytes.
fn spoilt(input: &[u8], step: usize) -> bool {
    let mut scanner = Scanner::default();
    let mut bytes = input.to_vec();
    for piece in bytes.chunks_mut(step) {
        scanner.scan(piece);
    }
    bytes != input
}

fn check(input: &[u8], want: bool) {
    for step in 1..=input.len() {
        let text = String::from_utf8_lossy(input);
        assert_eq!(spoilt(input, step), want, "{text:?} in pieces of {step}");
    }
}

#[test]
fn good_requests_pass_untouched() {
    check(
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        false,
    );
    check(
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\na\nb\ncGET / HTTP/1.1\r\n\r\n",
        false,
    );
    check(
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\n0\r\nx: y\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        false,
    );
    check(b"\r\nGET / HTTP/1.1\r\nCookie: a\r\nTE: b\r\n\r\n", false);
}

#[test]
fn ambiguous_framing_is_spoilt() {
    check(b"GET / HTTP/1.1\nHost: a\n\n", true);
    check(b"GET / HTTP/1.1\r\nHost: a\n\r\n", true);
    check(b"GET / HTTP/1.1\r\nHost: a\r\n\n", true);
    check(
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        true,
    );
    check(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        true,
    );
    check(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        true,
    );
    check(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        true,
    );
    check(b"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\nabcde", true);
}

#[test]
fn faults_behind_a_body_are_found() {
    let fault = b"GET / HTTP/1.1\nHost: a\r\n\r\n";
    for first in [
        &b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na\nb",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n",
    ] {
        check(&[first, fault].concat(), true);
    }
}

#[test]
fn long_lines_do_not_grow_memory() {
    let mut scanner = Scanner::default();
    let mut piece = vec![b'a'; 5000];
    for _ in 0..20 {
        scanner.scan(&mut piece);
    }
    assert!(scanner.line.len() <= KEPT && !scanner.line.spilled());
}

proptest::proptest! {
    /// What is found does not depend on how the bytes come.
    #[test]
    fn pieces_do_not_matter(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            "GET / HTTP/1.1\r\n", "content-length: 3\r\n", "Transfer-Encoding: chunked\r\n",
            "\r\n", "\n", "\r", "3\r\nabc\r\n", "0\r\n", "abc", "x: y\r\n", "upgrade: z\r\n", ":", "\0",
        ]), 0..20),
        step in 1usize..9,
    ) {
        let input = parts.concat().into_bytes();
        let (mut whole, mut pieces) = (input.clone(), input);
        Scanner::default().scan(&mut whole);
        let mut scanner = Scanner::default();
        for piece in pieces.chunks_mut(step) {
            scanner.scan(piece);
        }
        proptest::prop_assert_eq!(whole, pieces);
    }
}
