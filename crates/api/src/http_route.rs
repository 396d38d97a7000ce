//! HTTPRoute of the Gateway API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::Resource;

/// An HTTPRoute.
pub type HttpRoute = Resource<HttpRouteSpec>;

/// `spec` of an HTTPRoute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRouteSpec {
    /// Gateways and listeners to attach to.
    pub parent_refs: Vec<ParentRef>,
    /// Hosts; empty means those of the listener.
    pub hostnames: Vec<String>,
    /// Rules; absent means one rule for all paths.
    pub rules: Option<Vec<HttpRule>>,
    /// Whether to attach to default Gateways.
    pub use_default_gateways: Option<String>,
}

/// Where a route attaches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParentRef {
    /// Group; absent means `gateway.networking.k8s.io`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Kind; absent means `Gateway`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Namespace; absent means that of the route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// Name of one listener.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_name: Option<String>,
    /// Port of the listeners.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// One rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRule {
    /// Name of the rule.
    pub name: Option<String>,
    /// Any of these must hold; empty means all paths.
    pub matches: Vec<HttpMatch>,
    /// What happens to requests and responses.
    pub filters: Vec<HttpFilter>,
    /// Where requests go, by weight.
    pub backend_refs: Vec<HttpBackendRef>,
    /// Limits on time.
    pub timeouts: Option<HttpTimeouts>,
    /// Retries; not supported.
    pub retry: Option<serde_json::Value>,
    /// Session persistence; not supported.
    pub session_persistence: Option<serde_json::Value>,
}

/// Conditions on a request; all must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpMatch {
    /// Path; absent means prefix `/`.
    pub path: Option<PathCondition>,
    /// Headers.
    pub headers: Vec<ValueCondition>,
    /// Query parameters.
    pub query_params: Vec<ValueCondition>,
    /// Method.
    pub method: Option<String>,
}

/// Condition on the path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PathCondition {
    /// `PathPrefix` (default), `Exact` or `RegularExpression`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Value; absent means `/`.
    pub value: Option<String>,
}

/// Condition on a header or query parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValueCondition {
    /// `Exact` (default) or `RegularExpression`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// Limits on time, as Gateway API durations; `0s` means none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpTimeouts {
    /// For the whole exchange.
    pub request: Option<String>,
    /// For one try at one endpoint.
    pub backend_request: Option<String>,
}

/// A backend with its share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpBackendRef {
    /// Group; absent means the core group.
    #[serde(default)]
    pub group: Option<String>,
    /// Kind; absent means `Service`.
    #[serde(default)]
    pub kind: Option<String>,
    /// Namespace; absent means that of the route.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// Port of a Service; ignored for an InferencePool.
    #[serde(default)]
    pub port: Option<u16>,
    /// Share, 0..=1,000,000; absent means 1.
    #[serde(default)]
    pub weight: Option<u32>,
    /// Filters for this backend alone.
    #[serde(default)]
    pub filters: Vec<HttpFilter>,
}

/// One filter: `type` and the member of that name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpFilter {
    /// `RequestHeaderModifier`, `ResponseHeaderModifier`, `RequestMirror`, `RequestRedirect`,
    /// `URLRewrite`; `CORS`, `ExternalAuth` and `ExtensionRef` are not supported.
    #[serde(rename = "type")]
    pub kind: String,
    /// Changes the request's headers.
    #[serde(default)]
    pub request_header_modifier: Option<HeaderModifier>,
    /// Changes the response's headers.
    #[serde(default)]
    pub response_header_modifier: Option<HeaderModifier>,
    /// Sends a copy elsewhere.
    #[serde(default)]
    pub request_mirror: Option<RequestMirror>,
    /// Answers with a redirect.
    #[serde(default)]
    pub request_redirect: Option<RequestRedirect>,
    /// Changes host or path.
    #[serde(default)]
    pub url_rewrite: Option<UrlRewrite>,
    /// CORS; not supported.
    #[serde(default)]
    pub cors: Option<serde_json::Value>,
    /// External authorisation; not supported.
    #[serde(default)]
    pub external_auth: Option<serde_json::Value>,
    /// Filter of another kind; not supported.
    #[serde(default)]
    pub extension_ref: Option<serde_json::Value>,
}

/// Changes to headers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderModifier {
    /// Overwrites.
    pub set: Vec<Header>,
    /// Appends.
    pub add: Vec<Header>,
    /// Removes.
    pub remove: Vec<String>,
}

/// Name and value of a header.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
}

/// Where copies go.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMirror {
    /// Service or InferencePool.
    pub backend_ref: HttpBackendRef,
    /// Share in percent, 0..=100.
    #[serde(default)]
    pub percent: Option<u32>,
    /// Share as a fraction.
    #[serde(default)]
    pub fraction: Option<Fraction>,
}

/// A share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fraction {
    /// Upper part.
    pub numerator: u32,
    /// Lower part; absent means 100.
    #[serde(default)]
    pub denominator: Option<u32>,
}

/// How to redirect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRedirect {
    /// `http` or `https`; absent keeps it.
    pub scheme: Option<String>,
    /// Host; absent keeps it.
    pub hostname: Option<String>,
    /// Path; absent keeps it.
    pub path: Option<PathModifier>,
    /// Port.
    pub port: Option<u16>,
    /// 301, 302 (default), 303, 307 or 308.
    pub status_code: Option<u16>,
}

/// What to rewrite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct UrlRewrite {
    /// Host.
    pub hostname: Option<String>,
    /// Path.
    pub path: Option<PathModifier>,
}

/// How to change a path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathModifier {
    /// `ReplaceFullPath` or `ReplacePrefixMatch`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The new path.
    #[serde(default)]
    pub replace_full_path: Option<String>,
    /// What stands for the matched prefix.
    #[serde(default)]
    pub replace_prefix_match: Option<String>,
}
