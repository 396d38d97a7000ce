//! Errors in the form of the OpenAI API.

use bytes::Bytes;
use suimon_telemetry::Reason;

/// The JSON of an error that is not an endpoint's own: `reason` in the words of `message`, for the
/// request `id`.
#[must_use]
pub fn error_body(reason: Reason, message: &str, id: &str) -> Bytes {
    let row = reason.row();
    Bytes::from(
        serde_json::json!({
            "error": {
                "message": message,
                "type": row.kind,
                "code": row.label,
                "param": null,
                "request_id": id,
            }
        })
        .to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_form_that_clients_of_the_api_read() {
        let body = error_body(Reason::BodyTooLarge, "too \"large\"", "r-1");
        assert_eq!(
            body,
            r#"{"error":{"message":"too \"large\"","type":"invalid_request_error","code":"body-too-large","param":null,"request_id":"r-1"}}"#
        );
    }
}
