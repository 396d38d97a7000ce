use super::*;
use http::Request;

fn parts(version: Version, uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut request = Request::builder().version(version).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap().into_parts().0
}

fn reason(version: Version, uri: &str, headers: &[(&str, &str)]) -> Result<String, Reason> {
    let mut parts = parts(version, uri, headers);
    check(&mut parts, &Limits::default()).map_err(|f| f.reason)
}

#[test]
fn hosts() {
    for (host, want) in [
        ("Example.COM:8080", Some("example.com")),
        ("example.com.", Some("example.com")),
        ("[::1]:80", Some("[::1]")),
        ("127.0.0.1", Some("127.0.0.1")),
        ("a b", None),
        ("a@b", None),
        ("a/b", None),
        ("a:b", None),
        ("a:99999", None),
        ("", None),
        ("[::1", None),
        ("[::g]", None),
        ("a,b", None),
    ] {
        let got = reason(Version::HTTP_11, "/", &[("host", host)]);
        assert_eq!(got.ok().as_deref(), want, "{host}");
    }
}

#[test]
fn host_is_needed_exactly_once() {
    let bad = Err(Reason::BadRequest);
    assert_eq!(reason(Version::HTTP_11, "/", &[]), bad);
    assert_eq!(reason(Version::HTTP_10, "/", &[]), Ok(String::new()));
    assert_eq!(
        reason(Version::HTTP_11, "/", &[("host", "a"), ("host", "a")]),
        bad
    );
}

#[test]
fn absolute_form_wins_over_host() {
    let mut parts = parts(
        Version::HTTP_11,
        "http://a.test/x?y=1",
        &[("host", "b.test")],
    );
    let host = check(&mut parts, &Limits::default()).unwrap();
    assert_eq!(host, "a.test");
    assert_eq!(parts.headers[HOST], "a.test");
    assert_eq!(parts.uri, "/x?y=1");
}

#[test]
fn authority_and_host_must_agree_in_http2() {
    let differ = reason(Version::HTTP_2, "http://a.test/", &[("host", "b.test")]);
    assert_eq!(differ, Err(Reason::BadRequest));
    assert!(reason(Version::HTTP_2, "http://a.test/", &[("host", "A.test")]).is_ok());
}

#[test]
fn framing_is_told_once() {
    for (lines, fits) in [
        (&[("transfer-encoding", "chunked")][..], true),
        (&[("transfer-encoding", "Chunked")], true),
        (&[("transfer-encoding", "gzip, chunked")], false),
        (&[("transfer-encoding", "chunked, chunked")], false),
        (
            &[
                ("transfer-encoding", "chunked"),
                ("transfer-encoding", "chunked"),
            ],
            false,
        ),
        (
            &[("transfer-encoding", "chunked"), ("content-length", "3")],
            false,
        ),
    ] {
        let mut headers = vec![("host", "a")];
        headers.extend_from_slice(lines);
        assert_eq!(
            reason(Version::HTTP_11, "/", &headers).is_ok(),
            fits,
            "{lines:?}"
        );
    }
}

#[test]
fn expectations() {
    let with = |value| reason(Version::HTTP_11, "/", &[("host", "a"), ("expect", value)]);
    assert!(with("100-Continue").is_ok());
    assert_eq!(with("cookies"), Err(Reason::ExpectationFailed));
}

#[test]
fn too_many_headers() {
    let names: Vec<String> = (0..101).map(|n| format!("x-{n}")).collect();
    let mut headers = vec![("host", "a")];
    headers.extend(names.iter().map(|n| (n.as_str(), "1")));
    assert_eq!(
        reason(Version::HTTP_11, "/", &headers),
        Err(Reason::HeadersTooLarge)
    );
}

#[test]
fn cookies_become_one_line() {
    let crumbs = [("cookie", "a=1"), ("cookie", "b=2; c=3")];
    let mut parts = parts(Version::HTTP_2, "http://a/", &crumbs);
    check(&mut parts, &Limits::default()).unwrap();
    let all: Vec<_> = parts.headers.get_all("cookie").iter().collect();
    assert_eq!(all, ["a=1; b=2; c=3"]);
}
