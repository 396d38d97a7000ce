//! Drafts → statuses and table.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use super::super::precedence::specificity;
use super::super::{Place, Report};
use super::{GatewayDraft, ListenerDraft};
use crate::matcher::is_model;
use crate::problem::Severity;
use crate::status::{Condition, GatewayStatus, ListenerStatus, kind, reason};
use crate::table::{Bind, Listener, Protocol, RankedMatch, RoutingTable};

/// Writes the statuses of all Gateways and compiles what is served.
pub(in crate::translate) fn finish(
    gateways: Vec<GatewayDraft<'_>>,
    report: &mut Report,
) -> RoutingTable {
    let mut binds: BTreeMap<SocketAddr, Bind> = BTreeMap::new();
    for gateway in gateways {
        status(&gateway, report);
        if gateway.refused.is_some() {
            continue;
        }
        let addresses = gateway.addresses;
        for draft in gateway
            .listeners
            .into_iter()
            .filter(ListenerDraft::is_served)
        {
            let name = format!("{}/{}", gateway.key, draft.spec.name);
            let (port, protocol) = (draft.spec.port, draft.protocol);
            let listener = compile(name, draft);
            for address in &addresses {
                let address = SocketAddr::new(*address, port);
                let bind = binds.entry(address).or_insert_with(|| Bind {
                    address,
                    protocol,
                    listeners: Vec::new(),
                });
                bind.listeners.push(copy(&listener));
            }
        }
    }
    let mut binds: Vec<Bind> = binds.into_values().collect();
    for bind in &mut binds {
        bind.listeners
            .sort_by_key(|listener| std::cmp::Reverse(specificity(&listener.hostname)));
    }
    RoutingTable { binds }
}

fn compile(name: String, mut draft: ListenerDraft<'_>) -> Listener {
    draft.matches.sort_by(|(a, _), (b, _)| a.cmp(b));
    let matches: Vec<RankedMatch> = draft.matches.into_iter().map(|(_, found)| found).collect();
    let needs_model = matches
        .iter()
        .any(|found| found.headers.iter().any(|header| is_model(&header.name)));
    Listener {
        name: Arc::from(name),
        hostname: draft.hostname,
        certificates: draft.certificates,
        matches,
        needs_model,
    }
}

/// One listener for each address of the Gateway.
fn copy(listener: &Listener) -> Listener {
    Listener {
        name: Arc::clone(&listener.name),
        hostname: listener.hostname.clone(),
        certificates: listener.certificates.clone(),
        matches: listener
            .matches
            .iter()
            .map(|found| RankedMatch {
                hostname: found.hostname.clone(),
                path: found.path.clone(),
                method: found.method.clone(),
                headers: found.headers.clone(),
                query: found.query.clone(),
                rule: Arc::clone(&found.rule),
            })
            .collect(),
        needs_model: listener.needs_model,
    }
}

fn status(gateway: &GatewayDraft<'_>, report: &mut Report) {
    let at = Place {
        kind: "Gateway",
        key: gateway.key,
    };
    let listeners: Vec<ListenerStatus> = gateway
        .listeners
        .iter()
        .map(|listener| {
            let conditions = listener_conditions(gateway, listener);
            let refusals = [&listener.refused, &listener.unresolved, &listener.conflict];
            for (_, message) in refusals.into_iter().flatten() {
                let field = format!("spec.listeners[{}]", listener.index);
                report.problem(Severity::Error, &at, &field, message);
            }
            ListenerStatus {
                name: listener.spec.name.clone(),
                supported_kinds: listener.supported_kinds.clone(),
                attached_routes: listener.attached,
                conditions,
            }
        })
        .collect();
    let conditions = gateway_conditions(gateway);
    for (_, message) in [&gateway.refused, &gateway.unserved].into_iter().flatten() {
        report.problem(Severity::Error, &at, "spec", message);
    }
    if gateway.listeners.is_empty() {
        report.problem(
            Severity::Error,
            &at,
            "spec.listeners",
            "there is no listener",
        );
    }
    report.statuses.gateways.insert(
        gateway.key.clone(),
        GatewayStatus {
            addresses: gateway.addresses.clone(),
            conditions,
            listeners,
        },
    );
}

fn gateway_conditions(gateway: &GatewayDraft<'_>) -> Vec<Condition> {
    let accepted =
        |listener: &&ListenerDraft<'_>| listener.refused.is_none() && listener.conflict.is_none();
    let valid = gateway.listeners.iter().filter(accepted).count();
    let is_programmed = gateway.refused.is_none() && gateway.unserved.is_none() && valid > 0;
    let acceptance = match &gateway.refused {
        Some((reason, message)) => Condition::no(kind::ACCEPTED, reason, message),
        None if valid == 0 => {
            let message = "no listener is valid";
            Condition::no(kind::ACCEPTED, reason::LISTENERS_NOT_VALID, message)
        }
        None if valid < gateway.listeners.len() => {
            let message = "some listeners are not valid";
            Condition::yes(kind::ACCEPTED, reason::LISTENERS_NOT_VALID, message)
        }
        None => Condition::yes(kind::ACCEPTED, reason::ACCEPTED, ""),
    };
    let programmed = match &gateway.unserved {
        _ if is_programmed => Condition::yes(kind::PROGRAMMED, reason::PROGRAMMED, ""),
        Some((reason, message)) => Condition::no(kind::PROGRAMMED, reason, message),
        None => Condition::no(
            kind::PROGRAMMED,
            reason::INVALID,
            "the Gateway is not accepted",
        ),
    };
    let resolved = if gateway
        .listeners
        .iter()
        .any(|listener| listener.unresolved.is_some())
    {
        let message = "references of some listeners do not resolve";
        Condition::no(kind::RESOLVED_REFS, reason::LISTENERS_NOT_RESOLVED, message)
    } else {
        Condition::yes(kind::RESOLVED_REFS, reason::RESOLVED_REFS, "")
    };
    vec![acceptance, programmed, resolved]
}

fn listener_conditions(gateway: &GatewayDraft<'_>, listener: &ListenerDraft<'_>) -> Vec<Condition> {
    let refused = listener.refused.as_ref().or(listener.conflict.as_ref());
    let mut conditions = Vec::new();
    conditions.push(match refused {
        Some((reason, message)) => Condition::no(kind::ACCEPTED, reason, message),
        None => Condition::yes(kind::ACCEPTED, reason::ACCEPTED, ""),
    });
    conditions.push(match refused {
        None if gateway.refused.is_none() && listener.is_served() => {
            Condition::yes(kind::PROGRAMMED, reason::PROGRAMMED, "")
        }
        Some((reason, message)) if listener.conflict.is_some() => {
            Condition::no(kind::PROGRAMMED, reason, message)
        }
        _ => Condition::no(
            kind::PROGRAMMED,
            reason::INVALID,
            "the listener is not served",
        ),
    });
    conditions.push(match &listener.unresolved {
        Some((reason, message)) => Condition::no(kind::RESOLVED_REFS, reason, message),
        None => Condition::yes(kind::RESOLVED_REFS, reason::RESOLVED_REFS, ""),
    });
    if let Some((reason, message)) = &listener.conflict {
        conditions.push(Condition::yes(kind::CONFLICTED, reason, message));
    }
    if listener.overlapping && listener.protocol == Protocol::Https {
        conditions.push(Condition::yes(
            kind::OVERLAPPING_TLS,
            reason::OVERLAPPING_HOSTNAMES,
            "hostnames overlap with those of another listener on this port",
        ));
    }
    conditions
}
