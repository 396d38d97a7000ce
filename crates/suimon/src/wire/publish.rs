//! A translation → pools at work → one snapshot swap.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use suimon_api::{EndpointPickerConfig, parse_picker_config};
use suimon_picker::{Engine, Registry, Resources};
use suimon_proxy::{Limits, Pool, Snapshot};
use suimon_routing::Translation;
use suimon_routing::table::{PickerRef, PoolSpec, RemoteRef};
use suimon_telemetry::metrics::ResultLabel;

use super::pools::{Choice, RunningPool, Shared};
use super::remote;

/// The picker configuration of a pool that names none: load, KV cache and prefix, as the peers'.
pub const DEFAULT_PICKER_CONFIG: &str = include_str!("default-picker.yaml");

/// Turns translations into snapshots. Pools whose picker configuration stays keep everything that
/// they have learnt.
pub struct Publisher {
    registry: Registry,
    resources: Resources,
    shared: Shared,
    limits: Limits,
    running: Mutex<BTreeMap<Arc<str>, Kept>>,
    reach: Mutex<Option<SocketAddr>>,
}

struct Kept {
    picker: PickerRef,
    pool: Arc<RunningPool>,
}

/// A pool's picker cannot be made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("pool `{pool}`: picker configuration `{picker}`: {why}")]
pub struct PickerError {
    /// `namespace/name` of the pool.
    pub pool: Arc<str>,
    /// Where the configuration stands.
    pub picker: String,
    /// What is wrong.
    pub why: String,
}

// === impl Publisher ===

impl Publisher {
    /// A publisher without pools.
    #[must_use]
    pub fn new(registry: Registry, shared: Shared, limits: Limits) -> Self {
        let resources = Resources::default().with(Arc::clone(&shared.scraper));
        Self {
            registry,
            resources,
            shared,
            limits,
            running: Mutex::default(),
            reach: Mutex::default(),
        }
    }

    /// Brings the pools to where `translation` wants them and gives the snapshot to be published.
    ///
    /// # Errors
    /// [`PickerError`]; then all pools are as they were.
    pub fn prepare(&self, translation: Translation) -> Result<Snapshot, PickerError> {
        let mut running = self.running.lock();
        let new = self.new_pools(&translation.pools, &running)?;
        let mut kept: BTreeMap<Arc<str>, Kept> = BTreeMap::new();
        let mut pools = Vec::with_capacity(translation.pools.len());
        let mut new = new.into_iter();
        for spec in &translation.pools {
            let name = name(spec);
            let known = running
                .remove(&name)
                .filter(|kept| same_picker(&kept.picker, &spec.picker));
            let Some(pool) = known.map(|kept| kept.pool).or_else(|| new.next()) else {
                continue;
            };
            pool.update(spec, &self.shared.metrics);
            pools.push(Pool {
                name: Arc::clone(&name),
                picker: pool.endpoint_picker(),
                fail_open: spec.fail_open,
                protocol: spec.protocol,
                ready: Arc::clone(&pool.ready),
            });
            kept.insert(
                name,
                Kept {
                    picker: spec.picker.clone(),
                    pool,
                },
            );
        }
        *running = kept;
        Ok(Snapshot {
            table: translation.table,
            pools,
            limits: self.limits.clone(),
        })
    }

    /// Pools that are new or get another picker, in the order of `specs`, ready to be used.
    fn new_pools(
        &self,
        specs: &[PoolSpec],
        running: &BTreeMap<Arc<str>, Kept>,
    ) -> Result<Vec<Arc<RunningPool>>, PickerError> {
        let is_new = |spec: &&PoolSpec| {
            running
                .get(&name(spec))
                .is_none_or(|kept| !same_picker(&kept.picker, &spec.picker))
        };
        let make = |spec: &PoolSpec| {
            let name = name(spec);
            let fail = |why: String| PickerError {
                pool: Arc::clone(&name),
                picker: source(&spec.picker),
                why,
            };
            let choice = self.choice(&name, &spec.picker).map_err(fail)?;
            let pool = RunningPool::new(&name, source(&spec.picker), choice, &self.shared);
            pool.discover().map_err(fail)?;
            Ok(pool)
        };
        specs.iter().filter(is_new).map(make).collect()
    }

    fn choice(&self, pool: &Arc<str>, picker: &PickerRef) -> Result<Choice, String> {
        let config = match picker {
            PickerRef::Default => DEFAULT_PICKER_CONFIG,
            PickerRef::Inside { config, .. } => config,
            PickerRef::Remote(at) => {
                let settings = remote::settings(pool, at)?;
                return Ok(Choice::Remote(settings, at.addresses.clone()));
            }
            PickerRef::Unusable { .. } => return Ok(Choice::Nobody),
        };
        let engine = build(config, &self.registry, &self.resources)?;
        Ok(Choice::Inside(Box::new(engine)))
    }

    /// Pools at work, by name.
    #[must_use]
    pub fn pools(&self) -> Vec<Arc<RunningPool>> {
        self.running
            .lock()
            .values()
            .map(|kept| Arc::clone(&kept.pool))
            .collect()
    }

    /// Notes where clients reach the gateway.
    pub fn set_reach(&self, address: SocketAddr) {
        *self.reach.lock() = Some(address);
    }

    /// Where clients reach the gateway: one of its sockets.
    #[must_use]
    pub fn reach(&self) -> Option<SocketAddr> {
        *self.reach.lock()
    }

    /// What the pools share.
    #[must_use]
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Counts a configuration as taken or refused.
    pub fn count(&self, taken: bool) {
        let result = if taken { "ok" } else { "refused" };
        self.shared
            .metrics
            .reloads
            .get_or_create(&ResultLabel { result })
            .inc();
    }
}

impl std::fmt::Debug for Publisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Publisher({} pools)", self.running.lock().len())
    }
}

/// Builds an engine from the text of an EndpointPickerConfig.
///
/// # Errors
/// A sentence that names place, cause and what is accepted.
pub fn build(text: &str, registry: &Registry, resources: &Resources) -> Result<Engine, String> {
    let config: EndpointPickerConfig =
        parse_picker_config(text).map_err(|error| error.to_string())?;
    let engine = suimon_picker::build(&config, registry, resources);
    let engine = engine.map_err(|error| error.to_string())?;
    for warning in &engine.effective.warnings {
        tracing::warn!("picker configuration: {warning}");
    }
    Ok(engine)
}

/// Whether a pool keeps its picker. Other addresses are no other picker.
fn same_picker(one: &PickerRef, other: &PickerRef) -> bool {
    match (one, other) {
        (PickerRef::Remote(one), PickerRef::Remote(other)) => {
            let key = |at: &RemoteRef| (Arc::clone(&at.service), at.tls, at.timeout);
            key(one) == key(other)
        }
        (one, other) => one == other,
    }
}

fn name(spec: &PoolSpec) -> Arc<str> {
    Arc::from(format!("{}/{}", spec.namespace, spec.name))
}

fn source(picker: &PickerRef) -> String {
    match picker {
        PickerRef::Default => "built-in default".to_owned(),
        PickerRef::Inside { source, .. } => source.to_string(),
        PickerRef::Remote(at) => format!("Service {}", at.service),
        PickerRef::Unusable { why } => why.to_string(),
    }
}
