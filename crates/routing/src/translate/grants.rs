//! ReferenceGrants: which references may leave their namespace.

use suimon_api::reference_grant::{GrantTo, ReferenceGrant};

use crate::world::{Key, World};

/// All ReferenceGrants.
pub(super) struct Grants<'w> {
    grants: Vec<(&'w str, &'w ReferenceGrant)>,
}

/// Who refers.
#[derive(Debug, Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) kind: &'static str,
    pub(super) namespace: &'a str,
}

// === impl Grants ===

impl<'w> Grants<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        let grants = world
            .reference_grants
            .iter()
            .map(|(key, grant)| (key.namespace.as_str(), grant))
            .collect();
        Self { grants }
    }

    /// Whether an object of the Gateway API may refer to `target`.
    pub(super) fn allow(&self, from: From<'_>, group: &str, kind: &str, target: &Key) -> bool {
        from.namespace == target.namespace
            || self
                .grants
                .iter()
                .filter(|(namespace, _)| *namespace == target.namespace)
                .any(|(_, grant)| {
                    grant.spec.from.iter().any(|allowed| {
                        allowed.group == suimon_api::object::GATEWAY_GROUP
                            && allowed.kind == from.kind
                            && allowed.namespace == from.namespace
                    }) && grant
                        .spec
                        .to
                        .iter()
                        .any(|to| is_target(to, group, kind, &target.name))
                })
    }
}

fn is_target(to: &GrantTo, group: &str, kind: &str, name: &str) -> bool {
    to.group == group && to.kind == kind && to.name.as_deref().is_none_or(|only| only == name)
}
