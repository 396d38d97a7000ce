//! `suimon epp`: the picker of one pool as an external processor.

mod flags;
mod health;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use suimon_datalayer::scrape::Scraper;
use suimon_extproc::server::Services;
use suimon_extproc::{Options, Parts, Server, Settings};
use suimon_llm::Budget;
use suimon_picker::{Recorder, Registry};
use suimon_proxy::Limits;
use suimon_routing::Translation;
use suimon_routing::table::{BackendProtocol, PickerRef, PoolSpec};
use suimon_telemetry::Metrics;

use super::gateway::runtime;
use super::pools::{RunningPool, Shared};
use super::publish::Publisher;
use crate::admin::{Admin, AdminState};
use crate::cli::EppArgs;
use crate::observer::MetricsObserver;
use crate::shutdown;
use health::Readiness;

/// How often a drain looks whether proxies have left.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An endpoint picker at work.
struct Running {
    processing: Server,
    health: Server,
    readiness: Arc<Readiness>,
    admin: Admin,
    drain: Duration,
    /// Ends the watch of certificates.
    _certificates: Option<tls::Reloading>,
}

/// Runs until a signal.
///
/// # Errors
/// The flags or the configuration cannot be used, a port is taken, or the system refuses something.
pub fn run(args: &EppArgs, registry: Registry) -> anyhow::Result<()> {
    flags::check(args)?;
    runtime()?.block_on(async {
        let running = Running::start(args, registry).await?;
        let why = shutdown::requested().await?;
        running.stop(why).await;
        Ok(())
    })
}

// === impl Running ===

impl Running {
    async fn start(args: &EppArgs, registry: Registry) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
        let shared = Shared {
            scraper: Arc::new(Scraper::start()?),
            recorder: Arc::new(Recorder::new(args.keep_decisions)),
            metrics: Arc::clone(&metrics),
        };
        let publisher = Arc::new(Publisher::new(registry, shared, Limits::default()));
        publisher.prepare(Translation {
            pools: vec![spec(args)?],
            ..Translation::default()
        })?;
        let pool = publisher.pools().into_iter().next();
        let pool = pool.context("the pool was not made")?;
        discovers(&pool)?;
        let bound = Arc::new(AtomicBool::new(false));
        let readiness = Arc::new(Readiness::new(Arc::clone(&pool), Arc::clone(&bound)));
        let parts = Parts {
            picker: pool.endpoint_picker().context("the pool has no picker")?,
            observer: Arc::new(MetricsObserver::new(metrics)),
            health: Arc::clone(&readiness) as _,
        };
        let settings = settings(args)?;
        let (processing, certificates) = processing(args, parts.clone(), &settings)?;
        let health = health_server(args, parts, settings)?;
        let state = AdminState::new(Arc::clone(&publisher), Arc::clone(&bound));
        let at = SocketAddr::new(args.address, args.metrics_port);
        let admin = Admin::start(at, state)
            .await
            .context("--metrics-port takes another")?;
        bound.store(true, Ordering::Release);
        tracing::info!(
            processing = %processing.address(),
            health = %health.address(),
            metrics = %admin.address(),
            pool = %pool.name,
            "the endpoint picker is ready for Envoy"
        );
        Ok(Self {
            processing,
            health,
            readiness,
            admin,
            drain: args.drain_timeout,
            _certificates: certificates,
        })
    }

    /// Says that it is not ready, and goes on serving until all proxies have left or the time is
    /// over; then open streams get as much time again to end.
    async fn stop(self, why: &str) {
        self.readiness.drain();
        tracing::info!("{why}: not ready any more; requests are taken until the proxies have left");
        tokio::select! {
            () = self.wind_down() => {}
            // Whoever asks twice does not want to wait.
            _ = shutdown::requested() => tracing::warn!("a second signal: the rest is cut"),
        }
        self.admin.stop().await;
    }

    async fn wind_down(&self) {
        let over = tokio::time::Instant::now() + self.drain;
        while self.processing.connections() > 0 && tokio::time::Instant::now() < over {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let cut = self.processing.drain(self.drain).await;
        if cut > 0 {
            tracing::warn!(connections = cut, "the drain timeout has passed");
        }
        self.health.drain(Duration::ZERO).await;
    }
}

/// The pool as documents would describe it.
fn spec(args: &EppArgs) -> anyhow::Result<PoolSpec> {
    let (source, config) = flags::config(args)?;
    let (namespace, name) = args.pool();
    Ok(PoolSpec {
        namespace: Arc::from(namespace),
        name: Arc::from(name),
        picker: PickerRef::Inside {
            source: Arc::from(source),
            config: Arc::from(config),
        },
        fail_open: false,
        protocol: BackendProtocol::Http1,
        members: Vec::new(),
        objectives: Vec::new(),
        rewrites: Vec::new(),
    })
}

fn discovers(pool: &RunningPool) -> anyhow::Result<()> {
    let engine = pool.picker.as_ref().map(|picker| picker.engine());
    anyhow::ensure!(
        engine.is_some_and(|engine| engine.discovery.is_some()),
        "the configuration names no endpoints, and those of an InferencePool in a cluster are not \
         supported yet; accepted: `dataLayer: {{discovery: {{pluginRef: …}}}}` with a \
         `file-discovery` plugin"
    );
    Ok(())
}

fn settings(args: &EppArgs) -> anyhow::Result<Arc<Settings>> {
    let default = Settings::default();
    Ok(Arc::new(Settings {
        body_limit: flags::size(args)?.unwrap_or(default.body_limit),
        budget: Arc::new(Budget::new(args.max_bodies_mib << 20)),
        subsets: !args.disable_endpoint_subset_filter,
        ..default
    }))
}

fn processing(
    args: &EppArgs,
    parts: Parts,
    settings: &Arc<Settings>,
) -> anyhow::Result<(Server, Option<tls::Reloading>)> {
    let listener = listen(args, args.grpc_port, "--grpc-port")?;
    let options = Options {
        workers: args.workers,
        services: if args.health_checking {
            Services::All
        } else {
            Services::Processing
        },
        settings: Arc::clone(settings),
        ..Options::default()
    };
    if !args.secure_serving {
        return Ok((Server::start_plain(listener, parts, options)?, None));
    }
    let secured = tls::Secured::new(args)?;
    let reloading = secured.reload(args)?;
    let server = Server::start(listener, secured, parts, options)?;
    Ok((server, reloading))
}

fn health_server(args: &EppArgs, parts: Parts, settings: Arc<Settings>) -> anyhow::Result<Server> {
    let listener = listen(args, args.grpc_health_port, "--grpc-health-port")?;
    let options = Options {
        workers: Some(1),
        services: Services::Health,
        settings,
        ..Options::default()
    };
    Ok(Server::start_plain(listener, parts, options)?)
}

fn listen(args: &EppArgs, port: u16, flag: &str) -> anyhow::Result<TcpListener> {
    let address = SocketAddr::new(args.address, port);
    TcpListener::bind(address)
        .with_context(|| format!("cannot listen on `{address}`; {flag} takes another"))
}
