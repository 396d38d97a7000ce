//! The dashboard's files, part of the binary.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use super::respond;

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($path:literal, $kind:expr) => {
        (
            concat!("/", $path),
            $kind,
            include_str!(concat!("../../dashboard/", $path)),
        )
    };
}

/// Path, content type and text of each file.
static FILES: &[(&str, &str, &str)] = &[
    (
        "/",
        "text/html; charset=utf-8",
        include_str!("../../dashboard/index.html"),
    ),
    file!("style.css", "text/css; charset=utf-8"),
    file!("icon.svg", "image/svg+xml"),
    file!("app.js", SCRIPT),
    file!("dom.js", SCRIPT),
    file!("explain.js", SCRIPT),
    file!("rates.js", SCRIPT),
    file!("pools.js", SCRIPT),
    file!("decisions.js", SCRIPT),
    file!("picture.js", SCRIPT),
];

/// The file at `path`.
pub(super) fn page(path: &str) -> Option<Response<Full<Bytes>>> {
    let (_, kind, text) = FILES.iter().find(|(known, _, _)| *known == path)?;
    Some(respond(StatusCode::OK, kind, *text))
}
