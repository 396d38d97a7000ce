//! Headers that only the gateway may set, and those that clients may.

use http::{HeaderMap, HeaderName};

/// The endpoint that was chosen, told to it and to anything between. Between gateway and picker it is
/// also the metadata key, in the namespace `envoy.lb`.
pub const DESTINATION: HeaderName = HeaderName::from_static("x-gateway-destination-endpoint");
/// Endpoints that may be picked: a metadata key of the namespace `envoy.lb.subset_hint`. As a header
/// it means nothing.
pub const SUBSET: HeaderName = HeaderName::from_static("x-gateway-destination-endpoint-subset");
/// The endpoint that served the response: a metadata key of the namespace `envoy.lb`.
pub const SERVED: HeaderName = HeaderName::from_static("x-gateway-destination-endpoint-served");
/// Why load was shed, told to the client.
pub const DROPPED: HeaderName = HeaderName::from_static("x-llm-d-request-dropped-reason");

/// Removed from every client's request: whoever could set them could send requests to any host.
/// Sources: endpoint picker protocol of the Gateway API Inference Extension; llm-d's sidecars.
static OWNED: [HeaderName; 11] = [
    DESTINATION,
    SUBSET,
    SERVED,
    HeaderName::from_static("x-gateway-model-name"),
    HeaderName::from_static("x-gateway-base-model-name"),
    HeaderName::from_static("x-prefiller-host-port"),
    HeaderName::from_static("x-prefiller-url"),
    HeaderName::from_static("x-encoder-hosts-ports"),
    HeaderName::from_static("x-data-parallel-host-port"),
    HeaderName::from_static("x-kv-cache-source-host-port"),
    DROPPED,
];

/// Inputs of the picker that clients may set; they pass through as they are.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "states which names stay; read by a test")
)]
const CLIENT_INPUTS: &[&str] = &[
    "x-llm-d-inference-objective",
    "x-gateway-inference-objective",
    "x-llm-d-inference-fairness-id",
    "x-gateway-inference-fairness-id",
    "x-llm-d-model-name-rewrite",
    "x-gateway-model-name-rewrite",
    "x-llm-d-slo-ttft-ms",
    "x-slo-ttft-ms",
    "x-llm-d-slo-tpot-ms",
    "x-slo-tpot-ms",
];

/// Prefixes of [`OWNED`] families: names that later versions may add go too.
const OWNED_PREFIXES: &[&str] = &["x-gateway-destination-endpoint", "x-prefiller-"];

/// Removes what a client may not set.
pub fn strip(headers: &mut HeaderMap) {
    // One pass over the names that are there: nearly always nothing is found.
    while let Some(name) = headers.keys().find(|name| is_owned(name.as_str())).cloned() {
        headers.remove(name);
    }
}

/// Whether only a gateway may set a header of this name, which is in lower case.
///
/// Servers that fold `_` and `-` into one would take `x_prefiller_host_port` for ours.
#[must_use]
pub fn is_owned(name: &str) -> bool {
    if !name.starts_with("x-") && !name.starts_with("x_") {
        return false;
    }
    if name.contains('_') {
        return is_owned(&name.replace('_', "-"));
    }
    OWNED.iter().any(|owned| owned.as_str() == name)
        || OWNED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn owned_names_go_however_often_they_come() {
        let mut headers = HeaderMap::new();
        for name in &OWNED {
            headers.append(name, HeaderValue::from_static("a"));
            headers.append(name, HeaderValue::from_static("b, c"));
        }
        headers.append("x-prefiller-new", HeaderValue::from_static("a"));
        headers.append("x_gateway_model-name", HeaderValue::from_static("a"));
        headers.append("accept", HeaderValue::from_static("*/*"));
        strip(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }

    #[test]
    fn inputs_of_the_picker_stay() {
        let mut headers = HeaderMap::new();
        for name in CLIENT_INPUTS {
            headers.append(*name, HeaderValue::from_static("a"));
        }
        headers.append("test-epp-endpoint-selection", HeaderValue::from_static("a"));
        let before = headers.len();
        strip(&mut headers);
        assert_eq!(headers.len(), before);
    }
}
