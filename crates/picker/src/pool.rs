//! A pool at one moment: endpoints, objectives and rewrites together, swapped as one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::endpoint::{Endpoint, EndpointSpec};
use crate::rewrite::RewriteTable;
use crate::view::Places;

/// A pool at one moment. Immutable; endpoints carry their own live state.
#[derive(Debug, Default)]
pub struct PoolSnapshot {
    /// Endpoints in the order of their ids.
    pub endpoints: Arc<[Arc<Endpoint>]>,
    /// From an endpoint's slot to its place.
    pub places: Places,
    /// Priorities by the name of their InferenceObjective.
    pub objectives: HashMap<Arc<str>, i32>,
    /// Rules of InferenceModelRewrites.
    pub rewrites: RewriteTable,
}

// === impl PoolSnapshot ===

impl PoolSnapshot {
    /// The same pool with the endpoints of `specs`. Those that stay keep their state; those that go
    /// are marked as gone. Of specs with the same id the first counts.
    #[must_use]
    pub fn with_members(&self, specs: Vec<EndpointSpec>) -> Self {
        let mut known: HashMap<&str, &Arc<Endpoint>> = self
            .endpoints
            .iter()
            .map(|endpoint| (&**endpoint.id(), endpoint))
            .collect();
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::with_capacity(specs.len());
        let mut taken: HashSet<Arc<str>> = HashSet::with_capacity(specs.len());
        for spec in specs {
            if !taken.insert(Arc::clone(&spec.id)) {
                continue;
            }
            match known
                .get(&*spec.id)
                .filter(|endpoint| *endpoint.spec() == spec)
            {
                Some(endpoint) => {
                    endpoints.push(Arc::clone(endpoint));
                    known.remove(&*spec.id);
                }
                None => endpoints.push(Arc::new(Endpoint::new(spec))),
            }
        }
        for gone in known.values() {
            gone.mark_gone();
        }
        endpoints.sort_by(|a, b| a.id().cmp(b.id()));
        Self {
            places: Places::of(&endpoints),
            endpoints: endpoints.into(),
            objectives: self.objectives.clone(),
            rewrites: self.rewrites.clone(),
        }
    }

    /// The same pool with other objectives and rewrites.
    #[must_use]
    pub fn with_policies(
        &self,
        objectives: HashMap<Arc<str>, i32>,
        rewrites: RewriteTable,
    ) -> Self {
        Self {
            endpoints: Arc::clone(&self.endpoints),
            places: self.places.clone(),
            objectives,
            rewrites,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(id: &str, port: u16) -> EndpointSpec {
        EndpointSpec {
            id: Arc::from(id),
            address: ([127, 0, 0, 1], port).into(),
            labels: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn endpoints_that_stay_keep_their_state_and_the_rest_is_new() {
        let first = PoolSnapshot::default().with_members(vec![spec("a", 1), spec("b", 2)]);
        let second = first.with_members(vec![spec("b", 2), spec("a", 9), spec("c", 3)]);
        let by = |pool: &PoolSnapshot, id: &str| {
            Arc::clone(pool.endpoints.iter().find(|e| &**e.id() == id).unwrap())
        };
        assert_eq!(by(&first, "b").slot(), by(&second, "b").slot());
        assert_ne!(
            by(&first, "a").slot(),
            by(&second, "a").slot(),
            "same name, other address"
        );
        assert!(by(&first, "a").is_gone());
        assert!(!by(&second, "a").is_gone());
    }

    #[test]
    fn of_specs_with_one_id_the_first_counts() {
        let first = PoolSnapshot::default().with_members(vec![spec("a", 1), spec("b", 2)]);
        let twice = vec![spec("b", 2), spec("a", 1), spec("b", 9), spec("a", 1)];
        let second = first.with_members(twice);
        let members = |pool: &PoolSnapshot| -> Vec<(Arc<str>, u16, u32)> {
            let member = |e: &Arc<Endpoint>| (Arc::clone(e.id()), e.address().port(), e.slot());
            pool.endpoints.iter().map(member).collect()
        };
        assert_eq!(members(&second), members(&first));
        assert!(second.endpoints.iter().all(|endpoint| !endpoint.is_gone()));
    }

    #[test]
    fn an_endpoint_that_comes_back_inherits_nothing() {
        let first = PoolSnapshot::default().with_members(vec![spec("a", 1)]);
        let again = first.with_members(vec![]).with_members(vec![spec("a", 1)]);
        assert_ne!(first.endpoints[0].slot(), again.endpoints[0].slot());
    }
}
