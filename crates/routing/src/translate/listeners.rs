//! Gateways of ours, their addresses and their listeners.

mod conflicts;
mod finish;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use suimon_api::gateway::{Gateway, GatewayAddress, Listener};
use suimon_api::object::GATEWAY_GROUP;

use super::precedence::{Age, Rank};
use super::tls::{self, Refusal};
use super::{Context, Place, Report, TranslateOptions};
use crate::problem::Severity;
use crate::status::reason;
use crate::table::{Certificate, Hostname, Protocol, RankedMatch};
use crate::world::{Key, World};

pub(super) use finish::finish;

/// Kinds of routes that HTTP and HTTPS listeners take.
const ROUTE_KINDS: &[&str] = &["HTTPRoute"];

/// A Gateway in the making.
pub(super) struct GatewayDraft<'w> {
    pub(super) key: &'w Key,
    pub(super) listeners: Vec<ListenerDraft<'w>>,
    age: Age,
    addresses: Vec<IpAddr>,
    /// Why the Gateway is not accepted.
    refused: Option<Refusal>,
    /// Why it cannot be served though it is accepted.
    unserved: Option<Refusal>,
}

/// A listener in the making.
pub(super) struct ListenerDraft<'w> {
    pub(super) spec: &'w Listener,
    pub(super) hostname: Hostname,
    pub(super) supported_kinds: Vec<&'static str>,
    /// Accepted routes.
    pub(super) attached: usize,
    pub(super) matches: Vec<(Rank, RankedMatch)>,
    /// Place in `spec.listeners`.
    index: usize,
    protocol: Protocol,
    certificates: Vec<Arc<Certificate>>,
    /// Why the listener is not accepted.
    refused: Option<Refusal>,
    /// Why a reference does not resolve.
    unresolved: Option<Refusal>,
    /// Which conflict with another listener there is.
    conflict: Option<Refusal>,
    overlapping: bool,
}

/// Gateways of ours, the oldest first.
pub(super) fn gateways<'w>(
    cx: &Context<'w>,
    options: &TranslateOptions,
    report: &mut Report,
) -> Vec<GatewayDraft<'w>> {
    let world = cx.world;
    let mut drafts: Vec<_> = world
        .gateways
        .iter()
        .filter(|(_, gateway)| is_ours(world, options, &gateway.spec.gateway_class_name))
        .map(|(key, gateway)| draft(cx, key, gateway, report))
        .collect();
    drafts.sort_by(|a, b| a.age.cmp(&b.age));
    conflicts::among_gateways(&mut drafts);
    drafts
}

fn is_ours(world: &World, options: &TranslateOptions, class: &str) -> bool {
    match world.gateway_classes.get(class) {
        Some(class) => class.spec.controller_name == options.controller_name,
        None => options.standalone,
    }
}

fn draft<'w>(
    cx: &Context<'w>,
    key: &'w Key,
    gateway: &'w Gateway,
    report: &mut Report,
) -> GatewayDraft<'w> {
    let spec = &gateway.spec;
    notes(key, gateway, report);
    let (addresses, mut refused, unserved) = addresses(&spec.addresses);
    let parameters = spec
        .infrastructure
        .as_ref()
        .and_then(|it| it.parameters_ref.as_ref());
    if parameters.is_some() {
        let message = "`infrastructure.parametersRef` is not supported".to_owned();
        refused = Some((reason::INVALID_PARAMETERS, message));
    }
    let mut listeners: Vec<ListenerDraft<'w>> = Vec::new();
    for (index, listener) in spec.listeners.iter().enumerate() {
        if listeners
            .iter()
            .any(|earlier| earlier.spec.name == listener.name)
        {
            let at = Place {
                kind: "Gateway",
                key,
            };
            let message = format!(
                "listener `{}` is there already; names are unique",
                listener.name
            );
            report.problem(
                Severity::Error,
                &at,
                &format!("spec.listeners[{index}].name"),
                message,
            );
            continue;
        }
        listeners.push(listener_draft(cx, key, gateway, (index, listener)));
    }
    conflicts::within(&mut listeners);
    GatewayDraft {
        key,
        listeners,
        age: Age::of(gateway.metadata.creation_timestamp.as_ref(), key),
        addresses,
        refused,
        unserved,
    }
}

/// Fields that are understood and have no effect here.
fn notes(key: &Key, gateway: &Gateway, report: &mut Report) {
    let at = Place {
        kind: "Gateway",
        key,
    };
    let spec = &gateway.spec;
    let backend = spec.tls.as_ref().and_then(|tls| tls.backend.as_ref());
    for (given, field) in [
        (spec.allowed_listeners.is_some(), "spec.allowedListeners"),
        (spec.default_scope.is_some(), "spec.defaultScope"),
        (spec.backend_tls.is_some(), "spec.backendTLS"),
        (backend.is_some(), "spec.tls.backend"),
    ] {
        if given {
            report.problem(
                Severity::Warning,
                &at,
                field,
                "not supported; it has no effect",
            );
        }
    }
}

/// Addresses to bind, and why the Gateway is not accepted or not served.
fn addresses(wanted: &[GatewayAddress]) -> (Vec<IpAddr>, Option<Refusal>, Option<Refusal>) {
    let all = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let mut found: Vec<IpAddr> = Vec::new();
    let (mut refused, mut unserved) = (None, None);
    for address in wanted {
        let kind = address.kind.as_deref().unwrap_or("IPAddress");
        let value = address.value.as_deref().unwrap_or_default();
        if kind != "IPAddress" {
            let message = format!("address type `{kind}` is not supported; accepted: `IPAddress`");
            refused = Some((reason::UNSUPPORTED_ADDRESS, message));
        } else if value.is_empty() {
            found.push(all);
        } else if let Ok(ip) = value.parse() {
            found.push(ip);
        } else {
            let message = format!("`{value}` is not an IP address");
            unserved = Some((reason::ADDRESS_NOT_USABLE, message));
        }
    }
    if wanted.is_empty() {
        found.push(all);
    }
    // An unspecified address takes in all others of its family.
    let whole: Vec<IpAddr> = found
        .iter()
        .copied()
        .filter(IpAddr::is_unspecified)
        .collect();
    found
        .retain(|ip| ip.is_unspecified() || !whole.iter().any(|all| all.is_ipv4() == ip.is_ipv4()));
    found.sort_unstable();
    found.dedup();
    (found, refused, unserved)
}

fn listener_draft<'w>(
    cx: &Context<'w>,
    key: &Key,
    gateway: &Gateway,
    (index, spec): (usize, &'w Listener),
) -> ListenerDraft<'w> {
    let mut draft = ListenerDraft {
        spec,
        hostname: Hostname::Any,
        supported_kinds: Vec::new(),
        attached: 0,
        matches: Vec::new(),
        index,
        protocol: Protocol::Http,
        certificates: Vec::new(),
        refused: None,
        unresolved: None,
        conflict: None,
        overlapping: false,
    };
    match spec.protocol.as_str() {
        "HTTP" => {}
        "HTTPS" => draft.protocol = Protocol::Https,
        other => {
            let message = format!("protocol `{other}` is not supported; accepted: `HTTP`, `HTTPS`");
            draft.refused = Some((reason::UNSUPPORTED_PROTOCOL, message));
            return draft;
        }
    }
    match spec.hostname.as_deref().map(hostname).transpose() {
        Ok(hostname) => draft.hostname = hostname.unwrap_or(Hostname::Any),
        Err(message) => draft.refused = Some((reason::UNSUPPORTED_VALUE, message)),
    }
    if let Some(message) = unsupported(gateway, spec, draft.protocol) {
        draft.refused = Some((reason::UNSUPPORTED_VALUE, message));
    }
    draft.kinds();
    if draft.protocol == Protocol::Https {
        let refs = spec.tls.as_ref().map(|tls| tls.certificate_refs.as_slice());
        let namespace = key.namespace.as_str();
        let (certificates, refusal) = tls::certificates(cx, namespace, refs.unwrap_or_default());
        draft.certificates = certificates;
        draft.unresolved = refusal.or(draft.unresolved);
    }
    draft
}

/// What of a listener of a known protocol cannot be served as it is.
fn unsupported(gateway: &Gateway, spec: &Listener, protocol: Protocol) -> Option<String> {
    let https = protocol == Protocol::Https;
    let frontend = gateway
        .spec
        .tls
        .as_ref()
        .and_then(|tls| tls.frontend.as_ref());
    let tls = spec.tls.as_ref();
    let mode = tls
        .and_then(|tls| tls.mode.as_deref())
        .unwrap_or("Terminate");
    let namespaces = spec
        .allowed_routes
        .as_ref()
        .and_then(|it| it.namespaces.as_ref());
    let from = namespaces
        .and_then(|it| it.from.as_deref())
        .unwrap_or("Same");
    if spec.port == 0 {
        Some("port 0 is not supported; accepted: 1 to 65535".to_owned())
    } else if !https && tls.is_some() {
        Some("`tls` is for HTTPS listeners only".to_owned())
    } else if mode != "Terminate" {
        Some(format!(
            "TLS mode `{mode}` is not supported; accepted: `Terminate`"
        ))
    } else if https
        && (frontend.is_some() || tls.is_some_and(|tls| tls.frontend_validation.is_some()))
    {
        // Serving without the validation would let everybody in.
        Some("validation of client certificates is not supported".to_owned())
    } else if !matches!(from, "Same" | "All" | "Selector" | "None") {
        Some(format!(
            "`allowedRoutes.namespaces.from` is `{from}`; accepted: `Same`, `All`, `Selector`"
        ))
    } else {
        None
    }
}

/// Reads a hostname, a leading `*.` allowed.
pub(super) fn hostname(text: &str) -> Result<Hostname, String> {
    let lower = text.to_ascii_lowercase();
    let (wildcard, name) = match lower.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, lower.as_str()),
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if lower.len() > 253 || !name.split('.').all(is_label) || name.parse::<IpAddr>().is_ok() {
        return Err(format!(
            "`{text}` is not a hostname; accepted: a DNS name, `*.` in front of it allowed, no IP address"
        ));
    }
    Ok(if wildcard {
        Hostname::Suffix(format!(".{name}").into())
    } else {
        Hostname::Exact(name.into())
    })
}

// === impl ListenerDraft ===

impl ListenerDraft<'_> {
    /// Sets the kinds of routes that may attach.
    fn kinds(&mut self) {
        let wanted = self
            .spec
            .allowed_routes
            .as_ref()
            .map_or(&[][..], |it| it.kinds.as_slice());
        if wanted.is_empty() {
            self.supported_kinds = ROUTE_KINDS.to_vec();
            return;
        }
        for want in wanted {
            let group = want.group.as_deref().unwrap_or(GATEWAY_GROUP);
            let known = ROUTE_KINDS
                .iter()
                .find(|kind| group == GATEWAY_GROUP && **kind == want.kind);
            match known {
                Some(kind) if self.supported_kinds.contains(kind) => {}
                Some(kind) => self.supported_kinds.push(kind),
                None => {
                    let message = format!(
                        "routes of kind `{group}/{}` are not supported; accepted: `HTTPRoute`",
                        want.kind
                    );
                    self.unresolved = Some((reason::INVALID_ROUTE_KINDS, message));
                }
            }
        }
    }

    /// Whether requests reach it.
    fn is_served(&self) -> bool {
        self.refused.is_none()
            && self.conflict.is_none()
            && (self.protocol == Protocol::Http || !self.certificates.is_empty())
    }
}
