//! Routes to listeners: Gateway API, "Attaching to Gateways".

use std::collections::{BTreeMap, BTreeSet};

use suimon_api::http_route::{HttpRoute, ParentRef};
use suimon_api::object::GATEWAY_GROUP;

use super::listeners::{GatewayDraft, ListenerDraft, hostname};
use super::pools::Pools;
use super::precedence::{Age, Rank};
use super::rules::{self, RouteDraft};
use super::tls::Refusal;
use super::{Context, Place, Report};
use crate::problem::Severity;
use crate::status::{Condition, ParentStatus, kind, reason};
use crate::table::{Hostname, RankedMatch};
use crate::world::Key;

/// Attaches all routes; returns the pools that they lead to.
pub(super) fn routes<'w>(
    cx: &Context<'w>,
    gateways: &mut [GatewayDraft<'w>],
    report: &mut Report,
) -> Pools<'w> {
    let mut pools = Pools::new(cx.world);
    for (key, route) in &cx.world.http_routes {
        let places = places(cx, gateways, key, route, report);
        // What an unattached route leads to is checked but not run.
        let mut aside = Pools::new(cx.world);
        let attached = places.iter().any(|place| place.found.is_ok());
        let target = if attached { &mut pools } else { &mut aside };
        let draft = rules::compile(cx, key, route, target, report);
        let age = Age::of(route.metadata.creation_timestamp.as_ref(), key);
        attach(gateways, &draft, &places, &age);
        if !draft.is_refused() {
            for place in places.iter().filter(|place| place.found.is_ok()) {
                target.add_parent(&draft.pools, gateways.get(place.gateway).map(|it| it.key));
            }
        }
        let entries = places.iter().map(|place| entry(place, &draft)).collect();
        report.statuses.routes.insert(key.clone(), entries);
    }
    pools
}

/// What one parentRef of a route comes to.
struct ParentPlace<'w> {
    parent: &'w ParentRef,
    /// Index of the Gateway.
    gateway: usize,
    /// Indexes of listeners with the hostnames that the route has there.
    found: Result<Vec<(usize, Vec<Hostname>)>, Refusal>,
}

fn places<'w>(
    cx: &Context<'w>,
    gateways: &[GatewayDraft<'w>],
    key: &Key,
    route: &'w HttpRoute,
    report: &mut Report,
) -> Vec<ParentPlace<'w>> {
    let at = Place {
        kind: "HTTPRoute",
        key,
    };
    let hostnames = hostnames(&at, route, report);
    let mut places = Vec::new();
    for (index, parent) in route.spec.parent_refs.iter().enumerate() {
        let field = format!("spec.parentRefs[{index}]");
        let group = parent.group.as_deref().unwrap_or(GATEWAY_GROUP);
        let kind = parent.kind.as_deref().unwrap_or("Gateway");
        if (group, kind) != (GATEWAY_GROUP, "Gateway") {
            let message =
                format!("parent of kind `{group}/{kind}` is not supported; accepted: `Gateway`");
            report.problem(Severity::Warning, &at, &field, message);
            continue;
        }
        let namespace = parent.namespace.as_deref().unwrap_or(&key.namespace);
        let target = Key::new(namespace, &parent.name);
        let Some(gateway) = gateways.iter().position(|gateway| *gateway.key == target) else {
            if !cx.world.gateways.contains_key(&target) {
                let message =
                    format!("Gateway `{target}` is not found; the route is not attached to it");
                report.problem(Severity::Warning, &at, &field, message);
            }
            continue;
        };
        let found = gateways.get(gateway).map_or_else(
            || Ok(Vec::new()),
            |draft| find(cx, draft, (key, parent), hostnames.as_deref()),
        );
        if let Err((_, message)) = &found {
            report.problem(Severity::Error, &at, &field, message);
        }
        places.push(ParentPlace {
            parent,
            gateway,
            found,
        });
    }
    if route.spec.parent_refs.is_empty() {
        report.problem(
            Severity::Warning,
            &at,
            "spec.parentRefs",
            "the route has no parent",
        );
    }
    places
}

/// Hostnames of a route; `None` when it gives none. Bad ones are left out, so that a route with
/// only bad ones takes nothing rather than all.
fn hostnames(at: &Place<'_>, route: &HttpRoute, report: &mut Report) -> Option<Vec<Hostname>> {
    let mut all = Vec::new();
    for (index, text) in route.spec.hostnames.iter().enumerate() {
        match hostname(text) {
            Ok(hostname) => all.push(hostname),
            Err(message) => {
                report.problem(
                    Severity::Error,
                    at,
                    &format!("spec.hostnames[{index}]"),
                    message,
                );
            }
        }
    }
    (!route.spec.hostnames.is_empty()).then_some(all)
}

fn find(
    cx: &Context<'_>,
    gateway: &GatewayDraft<'_>,
    (route, parent): (&Key, &ParentRef),
    hostnames: Option<&[Hostname]>,
) -> Result<Vec<(usize, Vec<Hostname>)>, Refusal> {
    let is_named = |listener: &ListenerDraft<'_>| {
        parent
            .section_name
            .as_ref()
            .is_none_or(|name| *name == listener.spec.name)
            && parent.port.is_none_or(|port| port == listener.spec.port)
    };
    let named: Vec<_> = gateway
        .listeners
        .iter()
        .enumerate()
        .filter(|(_, listener)| is_named(listener))
        .collect();
    if named.is_empty() {
        let message = format!(
            "no listener of Gateway `{}` has this name or port",
            gateway.key
        );
        return Err((reason::NO_MATCHING_PARENT, message));
    }
    let allowing: Vec<_> = named
        .into_iter()
        .filter(|(_, listener)| allows(cx, gateway.key, listener, route))
        .collect();
    if allowing.is_empty() {
        let message = format!(
            "no listener of Gateway `{}` allows HTTPRoutes of namespace `{}`",
            gateway.key, route.namespace
        );
        return Err((reason::NOT_ALLOWED_BY_LISTENERS, message));
    }
    let found: Vec<_> = allowing
        .into_iter()
        .map(|(index, listener)| (index, intersect(&listener.hostname, hostnames)))
        .filter(|(_, hostnames)| !hostnames.is_empty())
        .collect();
    if found.is_empty() {
        let message = format!(
            "no hostname of the route is one of Gateway `{}`",
            gateway.key
        );
        return Err((reason::NO_MATCHING_LISTENER_HOSTNAME, message));
    }
    Ok(found)
}

fn allows(cx: &Context<'_>, gateway: &Key, listener: &ListenerDraft<'_>, route: &Key) -> bool {
    if !listener.supported_kinds.contains(&"HTTPRoute") {
        return false;
    }
    let rule = listener
        .spec
        .allowed_routes
        .as_ref()
        .and_then(|it| it.namespaces.as_ref());
    match rule.and_then(|rule| rule.from.as_deref()).unwrap_or("Same") {
        "Same" => route.namespace == gateway.namespace,
        "All" => true,
        "Selector" => rule
            .and_then(|rule| rule.selector.as_ref())
            .is_some_and(|selector| {
                let mut labels = BTreeMap::new();
                if let Some(namespace) = cx.world.namespaces.get(&route.namespace) {
                    labels.clone_from(&namespace.metadata.labels);
                }
                labels.insert(
                    "kubernetes.io/metadata.name".to_owned(),
                    route.namespace.clone(),
                );
                selector.matches(&labels)
            }),
        _ => false,
    }
}

/// Hosts that both a listener and a route take, the narrower pattern of each pair.
fn intersect(listener: &Hostname, route: Option<&[Hostname]>) -> Vec<Hostname> {
    let Some(route) = route else {
        return vec![listener.clone()];
    };
    let narrower = |own: &Hostname| match (listener, own) {
        (Hostname::Any, own) | (own, Hostname::Any) => Some(own.clone()),
        (Hostname::Suffix(a), Hostname::Suffix(b)) => match a.len() >= b.len() {
            true if a.ends_with(&**b) => Some(listener.clone()),
            false if b.ends_with(&**a) => Some(own.clone()),
            _ => None,
        },
        (pattern, Hostname::Exact(name)) => pattern.matches(name).then(|| own.clone()),
        (Hostname::Exact(name), pattern) => pattern.matches(name).then(|| listener.clone()),
    };
    let mut found: Vec<Hostname> = Vec::new();
    for hostname in route.iter().filter_map(narrower) {
        if !found.contains(&hostname) {
            found.push(hostname);
        }
    }
    found
}

/// Adds the matches to each listener once, however many parentRefs lead to it.
fn attach(
    gateways: &mut [GatewayDraft<'_>],
    draft: &RouteDraft,
    places: &[ParentPlace<'_>],
    age: &Age,
) {
    let mut seen = BTreeSet::new();
    for place in places {
        for (index, hostnames) in place.found.iter().flatten() {
            let gateway = gateways.get_mut(place.gateway);
            let listener = gateway.and_then(|gateway| gateway.listeners.get_mut(*index));
            let Some(listener) = listener else { continue };
            if !seen.insert((place.gateway, *index)) {
                continue;
            }
            listener.attached += usize::from(!draft.is_refused());
            for hostname in hostnames {
                add_matches(listener, draft, hostname, age);
            }
        }
    }
}

fn add_matches(
    listener: &mut ListenerDraft<'_>,
    draft: &RouteDraft,
    hostname: &Hostname,
    age: &Age,
) {
    for rule in &draft.rules {
        for (index, condition) in rule.conditions.iter().enumerate() {
            let found = RankedMatch {
                hostname: hostname.clone(),
                path: condition.path.clone(),
                method: condition.method.clone(),
                headers: condition.headers.clone(),
                query: condition.query.clone(),
                rule: rule.rule.clone(),
            };
            let rank = Rank::of(&found, age, rule.rule.index, index);
            listener.matches.push((rank, found));
        }
    }
}

fn entry(place: &ParentPlace<'_>, draft: &RouteDraft) -> ParentStatus {
    let mut conditions = Vec::new();
    conditions.push(match (&place.found, draft.invalid.first()) {
        (Err((reason, message)), _) => Condition::no(kind::ACCEPTED, reason, message),
        (Ok(_), Some((reason, message))) if draft.is_refused() => {
            Condition::no(kind::ACCEPTED, reason, message)
        }
        (Ok(_), _) => Condition::yes(kind::ACCEPTED, reason::ACCEPTED, ""),
    });
    conditions.push(match &draft.unresolved {
        Some((reason, message)) => Condition::no(kind::RESOLVED_REFS, reason, message),
        None => Condition::yes(kind::RESOLVED_REFS, reason::RESOLVED_REFS, ""),
    });
    if !draft.invalid.is_empty() && !draft.is_refused() {
        let messages: Vec<&str> = draft
            .invalid
            .iter()
            .map(|(_, message)| message.as_str())
            .collect();
        conditions.push(Condition::yes(
            kind::PARTIALLY_INVALID,
            reason::UNSUPPORTED_VALUE,
            format!("Dropped Rule: {}", messages.join("; ")),
        ));
    }
    ParentStatus {
        parent: place.parent.clone(),
        conditions,
    }
}
