//! `suimon epp`: the picker alone, as an external processor of somebody else's proxy.
//!
//! | file | what |
//! |---|---|
//! | `epp/flags` | flags → pool, or why not |
//! | `epp/health` | whether requests are taken |

mod flags;
mod health;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use suimon_datalayer::scrape::Scraper;
use suimon_extproc::{Options, Parts, Server, Services, Settings, Silent};
use suimon_llm::Budget;
use suimon_picker::{Recorder, Registry};
use suimon_proxy::Limits;
use suimon_routing::Translation;
use suimon_routing::table::PoolSpec;
use suimon_telemetry::Metrics;

use self::health::Readiness;
use super::gateway::runtime;
use super::pools::{RunningPool, Shared};
use super::publish::Publisher;
use super::{drain, tls};
use crate::admin::{Admin, AdminState};
use crate::cli::epp::EppArgs;
use crate::observer::ProcessorObserver;
use crate::shutdown;

/// Runs until a signal.
///
/// # Errors
/// The flags or the configuration cannot be used, a socket cannot be bound, or the system refuses
/// something.
pub fn run(args: &EppArgs, registry: Registry) -> anyhow::Result<()> {
    let pool = flags::pool(args, &registry)?;
    let security = tls::Security::of(&args.serving.tls)?;
    runtime()?.block_on(async {
        let running = Running::start(args, pool, registry, security.as_ref()).await?;
        tracing::info!(
            pool = %running.pool.name,
            endpoints = running.pool.ready.load().len(),
            extproc = %running.server.address(),
            health = %running.health.address(),
            metrics = %running.admin.address(),
            tls = security.is_some(),
            "the endpoint picker is ready"
        );
        let why = tokio::select! {
            why = shutdown::requested() => why?,
            never = tls::follow(security.as_ref()) => match never {},
        };
        tokio::select! {
            () = running.stop(why, args.serving.drain_timeout) => {}
            // Whoever asks twice does not want to wait.
            _ = shutdown::requested() => tracing::warn!("a second signal: the rest is cut"),
        }
        Ok(())
    })
}

/// A picker at work.
#[derive(Debug)]
struct Running {
    pool: Arc<RunningPool>,
    server: Server,
    health: Server,
    readiness: Arc<Readiness>,
    observer: Arc<ProcessorObserver>,
    admin: Admin,
    /// For the admin server.
    bound: Arc<AtomicBool>,
    /// Holds the pool.
    _publisher: Arc<Publisher>,
}

// === impl Running ===

impl Running {
    async fn start(
        args: &EppArgs,
        spec: PoolSpec,
        registry: Registry,
        security: Option<&tls::Security>,
    ) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
        let publisher = publisher(args, registry, Arc::clone(&metrics))?;
        let pool = start_pool(&publisher, spec)?;
        let readiness = Arc::new(Readiness::of(Arc::clone(&pool)));
        let observer = Arc::new(ProcessorObserver::new(metrics, Arc::clone(&pool.name)));
        let picker = pool.endpoint_picker().context("the pool has no picker")?;
        let parts = Parts {
            picker,
            observer: Arc::<ProcessorObserver>::clone(&observer),
            health: Arc::<Readiness>::clone(&readiness),
        };
        let options = options(args);
        let serving = &args.serving;
        let ip = serving.address.unwrap_or_else(everywhere);
        let health = listen((ip, serving.grpc_health_port).into(), "--grpc-health-port")?;
        let health = Server::start_plain(health, of_health(&parts), one_worker(&options));
        let health = health.context("the health service cannot start")?;
        let listener = listen((ip, serving.grpc_port).into(), "--grpc-port")?;
        let server = match security {
            None => Server::start_plain(listener, parts, options),
            Some(security) => Server::start(listener, security.upgrade(), parts, options),
        };
        let server = server.context("the external processor cannot start")?;
        let bound = Arc::new(AtomicBool::new(true));
        let state = AdminState::new(Arc::clone(&publisher), Arc::clone(&bound));
        let address = (ip, serving.metrics_port).into();
        let admin = Admin::start(address, state, "--metrics-port").await?;
        Ok(Self {
            pool,
            server,
            health,
            readiness,
            observer,
            admin,
            bound,
            _publisher: publisher,
        })
    }

    /// Lets proxies turn away, then requests end, then stops everything.
    async fn stop(self, why: &str, limit: Duration) {
        self.readiness.drain();
        self.bound.store(false, Ordering::Release);
        tracing::info!("{why}: health says NOT_SERVING; requests are served until proxies know it");
        drain::settled(&self.server, || self.observer.ended(), limit).await;
        tracing::info!("no new requests; open ones end");
        let cut = self.server.drain(limit).await;
        if cut > 0 {
            tracing::warn!(
                connections = cut,
                "the drain timeout has passed: connections were cut"
            );
        }
        // Whoever still asks has been told.
        let _ = self.health.drain(Duration::ZERO).await;
        self.admin.stop().await;
    }
}

fn publisher(
    args: &EppArgs,
    registry: Registry,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Arc<Publisher>> {
    let shared = Shared {
        scraper: Arc::new(Scraper::start()?),
        recorder: Arc::new(Recorder::new(args.picking.keep_decisions)),
        metrics,
        seed: args.picking.seed,
    };
    Ok(Arc::new(Publisher::new(
        registry,
        shared,
        Limits::default(),
    )))
}

/// A configuration of one pool and nothing else.
fn start_pool(publisher: &Publisher, spec: PoolSpec) -> anyhow::Result<Arc<RunningPool>> {
    publisher.prepare(Translation {
        pools: vec![spec],
        ..Translation::default()
    })?;
    let pool = publisher.pools().into_iter().next();
    let pool = pool.context("the pool is not there")?;
    let picker = pool.picker.as_ref().context("the pool has no picker")?;
    anyhow::ensure!(
        picker.engine().discovery.is_some(),
        "{}: nothing says where the endpoints are; without a cluster that is {}",
        pool.source,
        flags::DISCOVERY
    );
    Ok(pool)
}

fn options(args: &EppArgs) -> Options {
    let limits = &args.limits;
    let settings = Settings {
        body_limit: limits.max_body_mib << 20,
        budget: Arc::new(Budget::new(limits.max_bodies_mib << 20)),
        subsets: !args.picking.disable_endpoint_subset_filter,
        ..Settings::default()
    };
    Options {
        workers: limits.workers,
        services: if args.serving.health_checking {
            Services::All
        } else {
            Services::Processing
        },
        settings: Arc::new(settings),
        ..Options::default()
    }
}

/// Connections of those who ask for health are none of proxies.
fn of_health(parts: &Parts) -> Parts {
    Parts {
        observer: Arc::new(Silent),
        ..parts.clone()
    }
}

fn one_worker(options: &Options) -> Options {
    Options {
        workers: Some(1),
        services: Services::Health,
        ..options.clone()
    }
}

/// All addresses, those of IPv6 too where the system has it.
pub(super) fn everywhere() -> IpAddr {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)) {
        Ok(_) => Ipv6Addr::UNSPECIFIED.into(),
        Err(_) => Ipv4Addr::UNSPECIFIED.into(),
    }
}

pub(super) fn listen(address: SocketAddr, flag: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .with_context(|| format!("cannot listen on `{address}`; {flag} takes another port"))
}
