use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn ok(path: &str) -> String {
    normalize(path).unwrap().into_owned()
}

#[test]
fn a_plain_path_is_borrowed() {
    for path in [
        "/",
        "/v1/chat/completions",
        "/foo/",
        "/foo;x",
        "/a%20b",
        "/a%2Bb",
        "/.well-known/x",
        "/...",
    ] {
        assert!(
            matches!(normalize(path), Ok(Cow::Borrowed(same)) if same == path),
            "{path}"
        );
    }
}

#[test]
fn every_spelling_of_a_path_becomes_one() {
    for path in [
        "/foo/../admin",
        "/foo/%2e%2e/admin",
        "/foo/.%2E/admin",
        "/./admin",
        "/%2e/admin",
        "//admin",
        "/x//..///admin",
        "/%61dmin",
        "/a/b/../../admin",
    ] {
        assert_eq!(ok(path), "/admin", "{path}");
    }
}

#[test]
fn a_trailing_slash_stays_and_dots_at_the_end_leave_one() {
    assert_eq!(ok("/foo/"), "/foo/");
    assert_eq!(ok("/foo//"), "/foo/");
    assert_eq!(ok("/foo/."), "/foo/");
    assert_eq!(ok("/foo/bar/.."), "/foo/");
    assert_eq!(ok("/foo/.."), "/");
    assert_eq!(ok("//"), "/");
}

#[test]
fn encodings_that_stay_are_upper_case() {
    assert_eq!(ok("/a%3fb"), "/a%3Fb");
    assert_eq!(ok("/%61%3fb%20"), "/a%3Fb%20");
    assert_eq!(ok("/a%c3%a9"), "/a%C3%A9");
}

#[test]
fn decoding_happens_once() {
    assert_eq!(ok("/%252e%252e/admin"), "/%252e%252e/admin");
    assert_eq!(ok("/a%252fb"), "/a%252fb");
}

#[test]
fn ambiguous_paths_are_refused() {
    let refused = |path: &str| normalize(path).unwrap_err();
    assert_eq!(refused("/.."), PathError::AboveRoot);
    assert_eq!(refused("/foo/../../etc"), PathError::AboveRoot);
    assert_eq!(refused("/%2e%2e/etc"), PathError::AboveRoot);
    assert_eq!(refused("/foo%2fbar"), PathError::AmbiguousSlash);
    assert_eq!(refused("/foo%2Fbar"), PathError::AmbiguousSlash);
    assert_eq!(refused("/foo%5cbar"), PathError::AmbiguousSlash);
    assert_eq!(refused("/foo\\bar"), PathError::AmbiguousSlash);
    assert_eq!(refused("/foo%00"), PathError::Control);
    assert_eq!(refused("/foo%0d%0a"), PathError::Control);
    assert_eq!(refused("/foo\u{7f}"), PathError::Control);
    assert_eq!(refused("/é"), PathError::Control);
    assert_eq!(refused("/foo bar"), PathError::Control);
    assert_eq!(refused("/foo%"), PathError::BadEncoding);
    assert_eq!(refused("/foo%2"), PathError::BadEncoding);
    assert_eq!(refused("/foo%zz"), PathError::BadEncoding);
    assert_eq!(refused("foo"), PathError::NotAbsolute);
    assert_eq!(refused(""), PathError::NotAbsolute);
}

proptest! {
    #[test]
    fn the_result_is_a_fixed_point_without_dot_segments(path in "/[a.%/2eEfF5cC~]{0,24}") {
        if let Ok(once) = normalize(&path) {
            prop_assert_eq!(normalize(&once), Ok(once.clone()));
            prop_assert!(once.split('/').all(|segment| segment != "." && segment != ".."));
            prop_assert!(!once.contains("//"));
        }
    }
}
