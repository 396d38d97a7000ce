//! One pool at work: picker, scraping, discovery.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use suimon_datalayer::scrape::{Activity, Scraper};
use suimon_extproc::{RemotePicker, RemoteSettings};
use suimon_picker::role::{Discovering, Watching};
use suimon_picker::{
    Endpoint, EndpointPicker, EndpointSpec, Engine, PickRequest, PickerParts, Picking, PoolPicker,
    PoolSnapshot, Recorder, RewriteTable, SystemClock, rewrite,
};
use suimon_routing::table::{PickerRef, PoolMember, PoolSpec, RewriteRule};
use suimon_telemetry::Metrics;

/// What all pools of a process share.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Scrapes all endpoints.
    pub scraper: Arc<Scraper>,
    /// Keeps decisions.
    pub recorder: Arc<Recorder>,
    /// Series of the process.
    pub metrics: Arc<Metrics>,
    /// Where random choices start; `None`: anywhere.
    pub seed: Option<u64>,
}

/// One pool at work.
pub struct RunningPool {
    /// `namespace/name`.
    pub name: Arc<str>,
    /// Where the picker's configuration stands, or why there is none.
    pub source: Arc<str>,
    fail_open: AtomicBool,
    /// Picks inside this process; `None` where another one does, or none can be used.
    pub picker: Option<Arc<PoolPicker>>,
    remote: Option<Arc<RemotePicker>>,
    /// Endpoints as the data plane falls back on them.
    pub ready: Arc<ArcSwap<Vec<Arc<Endpoint>>>>,
    activity: Arc<Activity>,
    /// Members of a pool without picker.
    unpicked: Mutex<PoolSnapshot>,
    sources: Mutex<Vec<Box<dyn Watching>>>,
    discovery: Mutex<Option<Box<dyn Discovering>>>,
}

/// Who picks for a pool.
pub enum Choice {
    /// This engine, inside this process.
    Inside(Box<Engine>),
    /// A picker in another process, at these addresses.
    Remote(RemoteSettings, Vec<SocketAddr>),
    /// None can be used.
    Nobody,
}

/// Says at each pick that the pool is in use, so that it is scraped at the full rate.
#[derive(Debug)]
struct Active {
    picker: Arc<PoolPicker>,
    activity: Arc<Activity>,
}

// === impl RunningPool ===

impl RunningPool {
    /// A pool without endpoints.
    #[must_use]
    pub fn new(name: &Arc<str>, source: String, choice: Choice, shared: &Shared) -> Arc<Self> {
        let ready = Arc::default();
        let (engine, remote) = match choice {
            Choice::Inside(engine) => (Some(engine), None),
            Choice::Remote(settings, addresses) => {
                let remote = RemotePicker::new(settings, addresses, Arc::clone(&ready));
                (None, Some(Arc::new(remote)))
            }
            Choice::Nobody => (None, None),
        };
        let picker = engine.map(|engine| {
            let parts = PickerParts {
                name: Arc::clone(name),
                engine: *engine,
                recorder: Arc::clone(&shared.recorder),
                seed: shared.seed.unwrap_or_else(rand::random),
            };
            Arc::new(PoolPicker::new(parts, Arc::new(SystemClock)))
        });
        let sources = picker.iter().flat_map(|picker| &picker.engine().sources);
        let sources = sources
            .map(|(source, extractors)| source.watch(&[], extractors))
            .collect();
        Arc::new(Self {
            name: Arc::clone(name),
            source: Arc::from(source),
            fail_open: AtomicBool::new(false),
            picker,
            remote,
            ready,
            activity: Arc::clone(shared.scraper.activity()),
            unpicked: Mutex::default(),
            sources: Mutex::new(sources),
            discovery: Mutex::default(),
        })
    }

    /// Starts the discovery plugin, if the configuration has one.
    ///
    /// # Errors
    /// When it finds nothing usable at the start.
    pub fn discover(self: &Arc<Self>) -> Result<(), String> {
        let Some(picker) = &self.picker else {
            return Ok(());
        };
        let Some(discovery) = &picker.engine().discovery else {
            return Ok(());
        };
        let pool = Arc::downgrade(self);
        let found = move |specs| {
            if let Some(pool) = pool.upgrade() {
                pool.set_members(specs);
            }
        };
        *self.discovery.lock() = Some(discovery.start(Arc::new(found))?);
        Ok(())
    }

    /// Takes what the pool's objects say: members, objectives, rewrites.
    pub fn update(&self, spec: &PoolSpec, metrics: &Metrics) {
        self.fail_open.store(spec.fail_open, Ordering::Relaxed);
        let discovers = self
            .picker
            .as_ref()
            .is_some_and(|picker| picker.engine().discovery.is_some());
        if !discovers {
            self.set_members(spec.members.iter().map(endpoint_spec).collect());
        }
        if let (Some(remote), PickerRef::Remote(at)) = (&self.remote, &spec.picker) {
            remote.set_addresses(at.addresses.clone());
        }
        let Some(picker) = &self.picker else { return };
        let objectives: HashMap<Arc<str>, i32> = spec
            .objectives
            .iter()
            .map(|(name, p)| (Arc::clone(name), *p))
            .collect();
        let rewrites = RewriteTable::new(spec.rewrites.iter().map(rewrite_rule));
        rewrites.names().for_each(|name| metrics.models.pin(name));
        picker.set_policies(objectives, rewrites);
    }

    fn set_members(&self, specs: Vec<EndpointSpec>) {
        let mut unpicked = self.unpicked.lock();
        let before = self.ready.load_full();
        let endpoints = match &self.picker {
            Some(picker) => picker.set_members(specs).endpoints.to_vec(),
            None => {
                *unpicked = unpicked.with_members(specs);
                unpicked.endpoints.to_vec()
            }
        };
        let is_new =
            |endpoint: &&Arc<Endpoint>| !before.iter().any(|known| known.slot() == endpoint.slot());
        let new: Vec<_> = endpoints.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            self.sources
                .lock()
                .iter()
                .for_each(|source| source.add(&new));
        }
        self.ready.store(Arc::new(endpoints));
    }

    /// The picker as the data plane calls it.
    #[must_use]
    pub fn endpoint_picker(&self) -> Option<Arc<dyn EndpointPicker>> {
        if let Some(remote) = &self.remote {
            return Some(Arc::clone(remote) as Arc<dyn EndpointPicker>);
        }
        let picker = Arc::clone(self.picker.as_ref()?);
        Some(Arc::new(Active {
            picker,
            activity: Arc::clone(&self.activity),
        }))
    }

    /// Whether requests go on when the picker fails.
    #[must_use]
    pub fn fail_open(&self) -> bool {
        self.fail_open.load(Ordering::Relaxed)
    }

    /// Endpoints that have neither been scraped nor given up.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.sources
            .lock()
            .iter()
            .map(|source| source.pending())
            .sum()
    }
}

impl Drop for RunningPool {
    fn drop(&mut self) {
        self.ready
            .load()
            .iter()
            .for_each(|endpoint| endpoint.mark_gone());
    }
}

impl std::fmt::Debug for RunningPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RunningPool({})", self.name)
    }
}

// === impl Active ===

impl EndpointPicker for Active {
    fn pick<'a>(&'a self, request: PickRequest<'a>) -> Picking<'a> {
        self.activity.touch();
        self.picker.pick(request)
    }
}

fn endpoint_spec(member: &PoolMember) -> EndpointSpec {
    EndpointSpec {
        id: Arc::clone(&member.id),
        address: SocketAddr::new(member.ip, member.port),
        labels: member.labels.clone(),
    }
}

fn rewrite_rule(rule: &RewriteRule) -> (Vec<Arc<str>>, rewrite::Rule) {
    let rewrite = Arc::clone(&rule.rewrite);
    (
        rule.models.clone(),
        rewrite::Rule {
            rewrite,
            targets: rule.targets.clone(),
        },
    )
}
