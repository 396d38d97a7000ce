//! InferencePools that routes lead to.

mod members;
mod picker;
mod rewrites;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use suimon_api::inference_pool::InferencePool;
use suimon_api::meta::ObjectRef;
use suimon_api::object::{INFERENCE_GROUP, INFERENCE_X_GROUP};

use super::{Context, Place, Report, gateway_parent};
use crate::problem::Severity;
use crate::status::{Condition, kind, reason};
use crate::table::{BackendProtocol, PickerRef, PoolSpec};
use crate::world::{Key, World};

/// Pools in the making, by the index that rules have.
pub(super) struct Pools<'w> {
    world: &'w World,
    indexes: BTreeMap<Key, usize>,
    drafts: Vec<PoolDraft<'w>>,
}

struct PoolDraft<'w> {
    key: &'w Key,
    pool: &'w InferencePool,
    /// Gateways with an accepted route to it.
    parents: BTreeSet<Key>,
}

// === impl Pools ===

impl<'w> Pools<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Self {
            world,
            indexes: BTreeMap::new(),
            drafts: Vec::new(),
        }
    }

    /// Index of a pool; `None` when there is no such pool.
    pub(super) fn add(&mut self, key: &Key) -> Option<usize> {
        if let Some(index) = self.indexes.get(key) {
            return Some(*index);
        }
        let (key, pool) = self.world.pools.get_key_value(key)?;
        let index = self.drafts.len();
        self.indexes.insert(key.clone(), index);
        self.drafts.push(PoolDraft {
            key,
            pool,
            parents: BTreeSet::new(),
        });
        Some(index)
    }

    /// Says that an accepted route of `gateway` leads to these pools.
    pub(super) fn add_parent(&mut self, pools: &BTreeSet<usize>, gateway: Option<&Key>) {
        for index in pools {
            if let (Some(draft), Some(gateway)) = (self.drafts.get_mut(*index), gateway) {
                draft.parents.insert(gateway.clone());
            }
        }
    }

    /// Compiles all pools and writes their statuses. Pools without routes are only checked.
    pub(super) fn finish(self, cx: &Context<'_>, report: &mut Report) -> Vec<PoolSpec> {
        rewrites::orphans(self.world, report);
        let unused = self
            .world
            .pools
            .iter()
            .filter(|(key, _)| !self.indexes.contains_key(key));
        for (key, pool) in unused {
            let draft = PoolDraft {
                key,
                pool,
                parents: BTreeSet::new(),
            };
            draft.compile(cx, report);
        }
        self.drafts
            .iter()
            .map(|draft| draft.compile(cx, report))
            .collect()
    }
}

// === impl PoolDraft ===

impl PoolDraft<'_> {
    fn compile(&self, cx: &Context<'_>, report: &mut Report) -> PoolSpec {
        let (world, key, spec) = (cx.world, self.key, &self.pool.spec);
        let at = Place {
            kind: "InferencePool",
            key,
        };
        let (protocol, unsupported) = protocol(spec.app_protocol.as_deref());
        let picker = picker::reference(cx, &at, self.pool, report);
        let members = members::members(world, &at, self.pool, report);
        if let Some(message) = &unsupported {
            report.problem(Severity::Error, &at, "spec.appProtocol", message);
        }
        let accepted = match &unsupported {
            Some(message) => {
                Condition::no(kind::ACCEPTED, reason::NOT_SUPPORTED_BY_PARENT, message)
            }
            None => Condition::yes(kind::ACCEPTED, reason::ACCEPTED, ""),
        };
        let resolved = match &picker {
            PickerRef::Unusable { why } => {
                Condition::no(kind::RESOLVED_REFS, reason::INVALID_EXTENSION_REF, &**why)
            }
            _ => Condition::yes(kind::RESOLVED_REFS, reason::RESOLVED_REFS, ""),
        };
        let entries = self
            .parents
            .iter()
            .map(|gateway| gateway_parent(gateway, vec![accepted.clone(), resolved.clone()]))
            .collect();
        report.statuses.pools.insert(key.clone(), entries);
        PoolSpec {
            namespace: Arc::from(key.namespace.as_str()),
            name: Arc::from(key.name.as_str()),
            picker,
            fail_open: picker::fails_open(&at, spec.endpoint_picker_ref.as_ref(), report),
            protocol,
            members: if unsupported.is_none() {
                members
            } else {
                Vec::new()
            },
            objectives: rewrites::objectives(world, key),
            rewrites: rewrites::rewrites(world, key, report),
        }
    }
}

fn protocol(wire: Option<&str>) -> (BackendProtocol, Option<String>) {
    match wire.unwrap_or("http") {
        "http" => (BackendProtocol::Http1, None),
        "kubernetes.io/h2c" => (BackendProtocol::H2c, None),
        other => {
            let message = format!(
                "`appProtocol` `{other}` is not supported; accepted: `http`, `kubernetes.io/h2c`"
            );
            (BackendProtocol::Http1, Some(message))
        }
    }
}

/// Whether a `poolRef` of an object in `namespace` means this pool.
fn is_pool(reference: &ObjectRef, namespace: &str, pool: &Key) -> bool {
    let group = reference.group.as_deref().unwrap_or(INFERENCE_GROUP);
    namespace == pool.namespace
        && reference.name == pool.name
        && matches!(group, INFERENCE_GROUP | INFERENCE_X_GROUP)
        && reference.kind.as_deref().unwrap_or("InferencePool") == "InferencePool"
}
