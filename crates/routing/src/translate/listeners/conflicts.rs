//! Listeners that are not distinct.

use std::net::IpAddr;

use super::{GatewayDraft, ListenerDraft};
use crate::status::reason;
use crate::table::{Hostname, Protocol};

/// Marks listeners of one Gateway: there is no winner, each that is in a conflict is marked.
pub(super) fn within(listeners: &mut [ListenerDraft<'_>]) {
    for index in 0..listeners.len() {
        let Some((one, others)) = split(listeners, index) else {
            continue;
        };
        let port = one.spec.port;
        for other in others.filter(|other| other.spec.port == port && is_known(other)) {
            if one.protocol != other.protocol {
                let message = format!(
                    "listener `{}` has another protocol on port {port}",
                    other.spec.name
                );
                one.conflict = Some((reason::PROTOCOL_CONFLICT, message));
            } else if one.hostname == other.hostname {
                let message = format!(
                    "listener `{}` has the same hostname on port {port}",
                    other.spec.name
                );
                one.conflict
                    .get_or_insert((reason::HOSTNAME_CONFLICT, message));
            } else if one.protocol == Protocol::Https && overlap(&one.hostname, &other.hostname) {
                one.overlapping = true;
            }
        }
    }
}

/// Marks listeners that cannot share a socket with those of an older Gateway. Gateways are sorted,
/// the oldest first.
pub(super) fn among_gateways(gateways: &mut [GatewayDraft<'_>]) {
    let mut claims: Vec<Claim> = Vec::new();
    for gateway in gateways {
        if gateway.refused.is_some() {
            continue;
        }
        let mut own = Vec::new();
        for listener in &mut gateway.listeners {
            if !listener.is_served() {
                continue;
            }
            let wanted: Vec<Claim> = gateway
                .addresses
                .iter()
                .map(|address| Claim {
                    address: *address,
                    port: listener.spec.port,
                    protocol: listener.protocol,
                    hostname: listener.hostname.clone(),
                })
                .collect();
            if claims
                .iter()
                .any(|claim| wanted.iter().any(|want| claim.excludes(want)))
            {
                let message = format!(
                    "an older Gateway has port {} with this hostname, another protocol or an overlapping address",
                    listener.spec.port
                );
                listener.refused = Some((reason::PORT_UNAVAILABLE, message));
            } else {
                own.extend(wanted);
            }
        }
        claims.append(&mut own);
    }
}

/// A hostname on a socket.
struct Claim {
    address: IpAddr,
    port: u16,
    protocol: Protocol,
    hostname: Hostname,
}

// === impl Claim ===

impl Claim {
    fn excludes(&self, other: &Self) -> bool {
        let either_whole = (self.address.is_unspecified() || other.address.is_unspecified())
            && self.address.is_ipv4() == other.address.is_ipv4();
        self.port == other.port
            && if self.address == other.address {
                self.protocol != other.protocol || self.hostname == other.hostname
            } else {
                either_whole
            }
    }
}

/// The listener at `index`, if its protocol is known, and all others.
fn split<'s, 'w>(
    listeners: &'s mut [ListenerDraft<'w>],
    index: usize,
) -> Option<(
    &'s mut ListenerDraft<'w>,
    impl Iterator<Item = &'s ListenerDraft<'w>>,
)> {
    let (before, rest) = listeners.split_at_mut_checked(index)?;
    let (one, after) = rest.split_first_mut()?;
    is_known(one).then(|| (one, before.iter().chain(after.iter())))
}

fn is_known(listener: &ListenerDraft<'_>) -> bool {
    !matches!(listener.refused, Some((reason::UNSUPPORTED_PROTOCOL, _)))
}

fn overlap(one: &Hostname, other: &Hostname) -> bool {
    match (one, other) {
        (Hostname::Any, _) | (_, Hostname::Any) => true,
        (Hostname::Suffix(a), Hostname::Suffix(b)) => a.ends_with(&**b) || b.ends_with(&**a),
        (Hostname::Suffix(_), Hostname::Exact(name)) => one.matches(name),
        (Hostname::Exact(name), _) => other.matches(name),
    }
}
