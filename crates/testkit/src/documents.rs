//! YAML of the documents that tests need. `@PORT@` stands for the gateway's port.

use std::fmt::Write as _;
use std::net::SocketAddr;

/// A Gateway `gw` with one HTTP listener on the loopback address.
pub const GATEWAY: &str = "
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: suimon
  addresses: [{type: IPAddress, value: 127.0.0.1}]
  listeners: [{name: http, protocol: HTTP, port: @PORT@}]
";

/// The standard picker configuration: queue 2, KV cache 2, prefix 3.
pub const STANDARD_PICKER: &str = "\
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: queue-scorer
- type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
- type: metrics-data-source
- type: core-metrics-extractor
schedulingProfiles:
- name: default
  plugins:
  - {pluginRef: queue-scorer, weight: 2}
  - {pluginRef: kv-cache-utilization-scorer, weight: 2}
  - {pluginRef: prefix-cache-scorer, weight: 3}
";

/// A route of the Gateway `gw` with these rules, a YAML list in flow or block style.
#[must_use]
pub fn route(name: &str, rules: &str) -> String {
    format!(
        "\n---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: {name}}}\n\
         spec:\n  parentRefs: [{{name: gw}}]\n  rules: {rules}\n"
    )
}

/// A backend reference to a pool.
#[must_use]
pub fn to_pool(name: &str) -> String {
    format!("{{group: inference.networking.k8s.io, kind: InferencePool, name: {name}}}")
}

/// A route of all requests to a pool.
#[must_use]
pub fn route_to_pool(pool: &str) -> String {
    route("all", &format!("[{{backendRefs: [{}]}}]", to_pool(pool)))
}

/// An InferencePool and its Pods, `pod-0` at the first address and so on. `spec` is more of the
/// pool's spec in flow style, as in `endpointPickerRef: {…}`.
#[must_use]
pub fn pool(name: &str, endpoints: &[SocketAddr], spec: &str) -> String {
    let numbers: Vec<_> = endpoints
        .iter()
        .map(|endpoint| format!("{{number: {}}}", endpoint.port()))
        .collect();
    let numbers = if numbers.is_empty() {
        "{number: 1}".to_owned()
    } else {
        numbers.join(", ")
    };
    let more = if spec.is_empty() {
        String::new()
    } else {
        format!("  {spec}\n")
    };
    let mut text = format!(
        "\n---\napiVersion: inference.networking.k8s.io/v1\nkind: InferencePool\n\
         metadata: {{name: {name}}}\nspec:\n  selector: {{matchLabels: {{pool: {name}}}}}\n\
         \x20 targetPorts: [{numbers}]\n{more}"
    );
    for (number, endpoint) in endpoints.iter().enumerate() {
        let (ip, port) = (endpoint.ip(), endpoint.port());
        let _ = write!(
            text,
            "\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}-{number}\n\
             \x20 labels: {{pool: {name}}}\n  annotations: \
             {{inference.networking.k8s.io/active-ports: '{port}'}}\nstatus: {{podIP: {ip}}}\n"
        );
    }
    text
}

/// A Service with port 80 and one EndpointSlice for each address.
#[must_use]
pub fn service(name: &str, endpoints: &[SocketAddr]) -> String {
    let mut text = format!(
        "\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n\
         spec: {{ports: [{{name: http, port: 80}}]}}\n"
    );
    for (number, endpoint) in endpoints.iter().enumerate() {
        let (ip, port) = (endpoint.ip(), endpoint.port());
        let _ = write!(
            text,
            "\n---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n\
             metadata: {{name: {name}-{number}, labels: {{kubernetes.io/service-name: {name}}}}}\n\
             endpoints: [{{addresses: [{ip}]}}]\nports: [{{name: http, port: {port}}}]\n"
        );
    }
    text
}

/// A ConfigMap with a picker configuration.
#[must_use]
pub fn picker(name: &str, config: &str) -> String {
    let config: String = config.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata:\n\
         \x20 picker.yaml: |\n{config}"
    )
}

/// Spec of a pool that runs the picker configuration of a ConfigMap.
#[must_use]
pub fn picker_ref(config_map: &str) -> String {
    format!("endpointPickerRef: {{group: \"\", kind: ConfigMap, name: {config_map}}}")
}
