//! `/health`, `/version`, `/metrics` and `/admin/config`.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, Reply, full};
use crate::error::ApiError;

/// Content type of the metrics page.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// 200 while the process runs.
pub(crate) fn health() -> Reply {
    Ok(full(StatusCode::OK, "text/plain; charset=utf-8", ""))
}

/// 503 during the start-up time.
pub(crate) fn ready(call: &Call) -> Reply {
    let status = if call.engine.is_ready() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    Ok(full(status, "text/plain; charset=utf-8", ""))
}

/// The version that is simulated.
pub(crate) fn version() -> Reply {
    Ok(super::json(StatusCode::OK, &json!({"version": "0.32.0"})))
}

/// The metrics page; with `filtered` it honours `?name[]=`, as the Python client does.
pub(crate) fn metrics(call: &Call, filtered: bool) -> Reply {
    if !call.engine.knobs.has_metrics() {
        return Err(ApiError::with_status(StatusCode::SERVICE_UNAVAILABLE));
    }
    let only = if filtered {
        names(&call.query)
    } else {
        Vec::new()
    };
    Ok(full(
        StatusCode::OK,
        METRICS_TYPE,
        call.engine.metrics_page(&only),
    ))
}

/// What can be changed at run time, as it is now.
pub(crate) fn config(call: &Call) -> Reply {
    let tuning = serde_json::to_value(call.engine.knobs.tuning())
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    Ok(super::json(StatusCode::OK, &tuning))
}

/// Changes some of it, or nothing if a field is unknown or wrong; answers with the new state.
pub(crate) fn set_config(call: &Call) -> Reply {
    let patch: Value = call.parse(&[])?;
    call.engine
        .knobs
        .patch_tuning(patch)
        .map_err(ApiError::bad_request)?;
    config(call)
}

/// Values of `name[]` in a query.
fn names(query: &str) -> Vec<String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(key, _)| decode(key) == "name[]")
        .map(|(_, value)| decode(value))
        .collect()
}

/// Decodes percent escapes; a malformed one stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) if *byte == b'%' => {
                out.push(value);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_queries() {
        assert_eq!(
            names("name[]=vllm:a&x=1&name%5B%5D=vllm%3Ab"),
            ["vllm:a", "vllm:b"]
        );
        assert!(names("").is_empty());
        assert_eq!(decode("%zz%4"), "%zz%4");
    }
}
