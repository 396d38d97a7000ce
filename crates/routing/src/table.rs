//! The compiled routing table: immutable, shared by `Arc`, all that the data plane knows of routes.
//!
//! [`mod@crate::translate`] builds it, [`crate::matcher`] reads it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Method, StatusCode};
use regex::Regex;

/// All listeners of all Gateways of ours.
#[derive(Debug, Default)]
pub struct RoutingTable {
    /// One entry for each socket to bind.
    pub binds: Vec<Bind>,
}

/// One socket: listeners that share address and port.
#[derive(Debug)]
pub struct Bind {
    /// Address and port; an unspecified IP means all.
    pub address: SocketAddr,
    /// Whether connections start with TLS.
    pub protocol: Protocol,
    /// Listeners, the most specific hostname first; the order in which they are tried.
    pub listeners: Vec<Listener>,
}

/// What a socket speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/2 by prior knowledge.
    Http,
    /// The same behind TLS.
    Https,
}

/// One listener of a Gateway.
#[derive(Debug)]
pub struct Listener {
    /// `namespace/gateway/listener`, for logs and metrics.
    pub name: Arc<str>,
    /// Hosts that the listener takes; [`Hostname::Any`] takes all.
    pub hostname: Hostname,
    /// Certificates of an HTTPS listener, in the order of the Gateway.
    pub certificates: Vec<Arc<Certificate>>,
    /// Rules of all attached routes, in the order of precedence: the first that matches wins.
    pub matches: Vec<RankedMatch>,
    /// Whether some match looks at `X-Gateway-Model-Name` or `X-Gateway-Base-Model-Name`.
    pub needs_model: bool,
}

/// A certificate chain with its key, both as PEM, checked to belong together by the data plane.
#[derive(PartialEq, Eq)]
pub struct Certificate {
    /// `namespace/name` of the Secret.
    pub name: String,
    /// PEM of the chain, leaf first.
    pub chain: Vec<u8>,
    /// PEM of the private key.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A hostname pattern, lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Hostname {
    /// No hostname: all hosts.
    Any,
    /// `*.example.com`, stored as `.example.com`: at least one more label in front.
    Suffix(Box<str>),
    /// One host.
    Exact(Box<str>),
}

/// One match of one rule with its rank already settled by its place in the list.
#[derive(Debug)]
pub struct RankedMatch {
    /// Host condition, already narrowed to the listener's hostname.
    pub hostname: Hostname,
    /// Path condition.
    pub path: PathMatch,
    /// Method condition.
    pub method: Option<Method>,
    /// Header conditions; all must hold.
    pub headers: Vec<HeaderMatch>,
    /// Query parameter conditions; all must hold.
    pub query: Vec<QueryMatch>,
    /// What to do.
    pub rule: Arc<Rule>,
}

/// A condition on the path.
#[derive(Debug, Clone)]
pub enum PathMatch {
    /// The path as it is.
    Exact(Box<str>),
    /// Whole path elements; stored without trailing slash, so `/` is the empty string.
    Prefix(Box<str>),
    /// The whole path, anchored at both ends.
    Regex(Regex),
}

/// A condition on one header.
#[derive(Debug, Clone)]
pub struct HeaderMatch {
    /// Name of the header.
    pub name: HeaderName,
    /// Condition on its values, joined by `,`.
    pub value: ValueMatch,
}

/// A condition on one query parameter.
#[derive(Debug, Clone)]
pub struct QueryMatch {
    /// Name after percent-decoding; case counts.
    pub name: Box<str>,
    /// Condition on the first value of that name.
    pub value: ValueMatch,
}

/// A condition on a value.
#[derive(Debug, Clone)]
pub enum ValueMatch {
    /// The same bytes.
    Exact(Box<str>),
    /// Anchored at both ends.
    Regex(Regex),
}

/// One rule of one route.
#[derive(Debug)]
pub struct Rule {
    /// `namespace/name` of the route.
    pub route: Arc<str>,
    /// Place of the rule in the route.
    pub index: usize,
    /// Filters in the order of the rule.
    pub filters: Vec<Filter>,
    /// Where requests go, by weight. Empty: 500, unless a redirect answers.
    pub backends: Vec<WeightedBackend>,
    /// Limits on time.
    pub timeouts: Timeouts,
}

/// Limits on time; `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// For the whole exchange with the client.
    pub request: Option<Duration>,
    /// For one try at one endpoint.
    pub backend_request: Option<Duration>,
}

/// One backend with its share.
#[derive(Debug)]
pub struct WeightedBackend {
    /// 0..=1,000,000; a share of the sum over all backends, invalid ones included.
    pub weight: u32,
    /// Filters that run only when this backend was chosen.
    pub filters: Vec<Filter>,
    /// Where it leads.
    pub backend: Backend,
}

/// Where a share of a rule leads.
#[derive(Debug, Clone)]
pub enum Backend {
    /// An InferencePool: index into [`crate::Translation::pools`].
    Pool(usize),
    /// A Service: plain balancing.
    Service(Arc<ServiceBackend>),
    /// A reference that cannot be used: 500.
    Invalid {
        /// Why, for the log.
        why: Arc<str>,
    },
}

/// One port of a Service.
#[derive(Debug, PartialEq, Eq)]
pub struct ServiceBackend {
    /// `namespace/name:port`.
    pub name: Arc<str>,
    /// Ready endpoints; empty: 503.
    pub endpoints: Vec<SocketAddr>,
    /// What the endpoints speak.
    pub protocol: BackendProtocol,
}

/// What an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BackendProtocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 in clear text by prior knowledge.
    H2c,
}

/// A filter, ready to run.
#[derive(Debug, Clone)]
pub enum Filter {
    /// Changes the request's headers.
    RequestHeaders(HeaderEdit),
    /// Changes the response's headers.
    ResponseHeaders(HeaderEdit),
    /// Answers with a redirect.
    Redirect(Redirect),
    /// Changes host or path of the request.
    Rewrite(Rewrite),
    /// Sends a copy elsewhere.
    Mirror(Mirror),
    /// A filter that cannot be applied: the request fails with 500, it is never skipped.
    Invalid {
        /// Why, for the log.
        why: Arc<str>,
    },
}

/// Changes to a set of headers: `set`, then `add`, then `remove`.
#[derive(Debug, Clone, Default)]
pub struct HeaderEdit {
    /// Overwrites.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Appends to the values that are there, joined by `,`.
    pub add: Vec<(HeaderName, HeaderValue)>,
    /// Removes.
    pub remove: Vec<HeaderName>,
}

/// How to build `Location`.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// Scheme; `None`: that of the request.
    pub scheme: Option<Box<str>>,
    /// Host; `None`: that of the request.
    pub hostname: Option<Box<str>>,
    /// Path; `None`: that of the request.
    pub path: Option<PathRewrite>,
    /// Port as given.
    pub port: Option<u16>,
    /// 301, 302, 303, 307 or 308.
    pub status: StatusCode,
}

/// What to change before the request goes on.
#[derive(Debug, Clone)]
pub struct Rewrite {
    /// Replaces the host.
    pub hostname: Option<HeaderValue>,
    /// Replaces the path.
    pub path: Option<PathRewrite>,
}

/// How to change a path. The query stays.
#[derive(Debug, Clone)]
pub enum PathRewrite {
    /// The whole path.
    Full(Box<str>),
    /// The part that the rule's prefix matched.
    Prefix(Box<str>),
}

/// A copy of the request to one endpoint, its response thrown away.
#[derive(Debug, Clone)]
pub struct Mirror {
    /// Where the copy goes.
    pub backend: Backend,
    /// Share of requests to copy, `numerator / denominator`.
    pub fraction: (u32, u32),
}

/// An InferencePool that some route leads to.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolSpec {
    /// Namespace of the pool.
    pub namespace: Arc<str>,
    /// Name of the pool.
    pub name: Arc<str>,
    /// Who picks.
    pub picker: PickerRef,
    /// Whether requests go on when the picker fails.
    pub fail_open: bool,
    /// What the endpoints speak.
    pub protocol: BackendProtocol,
    /// Ready members by the pool's selector and target ports. A discovery plugin of the picker's
    /// configuration replaces them.
    pub members: Vec<PoolMember>,
    /// Priorities of InferenceObjectives that name this pool, by name.
    pub objectives: Vec<(Arc<str>, i32)>,
    /// Rules of InferenceModelRewrites that name this pool, in the order of precedence.
    pub rewrites: Vec<RewriteRule>,
}

/// Who picks an endpoint of a pool.
#[derive(Debug, Clone, PartialEq)]
pub enum PickerRef {
    /// The built-in default configuration, inside this process.
    Default,
    /// This EndpointPickerConfig, inside this process.
    Inside {
        /// `namespace/name` of the ConfigMap and the key in it, for messages.
        source: Arc<str>,
        /// YAML of the configuration.
        config: Arc<str>,
    },
    /// A picker in another process, that is asked by Envoy's protocol of external processing.
    Remote(Arc<RemoteRef>),
    /// A reference that cannot be used: the pool's failure mode applies.
    Unusable {
        /// Why, for the log.
        why: Arc<str>,
    },
}

/// A picker in another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRef {
    /// `namespace/name:port` of the Service, for messages.
    pub service: Arc<str>,
    /// Name of the Service in the cluster's DNS. It is never looked up: it is what a certificate
    /// must be for, and the authority of requests.
    pub host: Arc<str>,
    /// Port of the Service.
    pub port: u16,
    /// Whether and how TLS is spoken.
    pub tls: PickerTls,
    /// Longest wait for a pick.
    pub timeout: Duration,
    /// Ready endpoints of the Service.
    pub addresses: Vec<SocketAddr>,
}

/// How a gateway speaks to a picker in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PickerTls {
    /// TLS with any certificate: pickers make their own by default.
    #[default]
    SkipVerify,
    /// TLS with a certificate that the system's authorities vouch for.
    Verify,
    /// No TLS.
    Plaintext,
}

/// One member of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolMember {
    /// `namespace/pod-rank-N`.
    pub id: Arc<str>,
    /// Address of the Pod.
    pub ip: IpAddr,
    /// Target port.
    pub port: u16,
    /// Labels of the Pod.
    pub labels: std::collections::BTreeMap<String, String>,
}

/// One rule of an InferenceModelRewrite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteRule {
    /// Name of the object, for metrics.
    pub rewrite: Arc<str>,
    /// Models that it is for; empty: all.
    pub models: Vec<Arc<str>>,
    /// Models to use instead, with their weights. All weights `None`: all alike.
    pub targets: Vec<(Arc<str>, Option<u32>)>,
}
