//! `suimon bbr`: body-based routing, as an external processor of somebody else's proxy.
//!
//! | file | what |
//! |---|---|
//! | `bbr/flags` | what cannot work, and what does not do what somebody may expect |
//! | `bbr/lora_map` | ConfigMaps → base models |
//! | `bbr/observer` | what sessions tell, into metrics |
//! | `bbr/readiness` | whether requests are taken |

mod flags;
mod lora_map;
mod observer;
mod readiness;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use arc_swap::ArcSwap;
use suimon_extproc::bbr::{BaseModels, Bbr, Settings};
use suimon_extproc::{Health, Options, Plain, Processor, Server, Services};
use suimon_llm::Budget;
use suimon_telemetry::metrics::BbrMetrics;

use self::observer::BbrObserver;
use self::readiness::Readiness;
use super::epp::{everywhere, listen};
use super::gateway::runtime;
use super::{drain, tls, watch};
use crate::admin::{Admin, AdminState};
use crate::cli::bbr::BbrArgs;
use crate::shutdown;

/// Runs until a signal.
///
/// # Errors
/// The flags or the map cannot be used, a socket cannot be bound, or the system refuses something.
pub fn run(args: &BbrArgs) -> anyhow::Result<()> {
    flags::check(args)?;
    let map = args.routing.lora_map.as_deref();
    let models = match map {
        Some(path) => lora_map::load(path)?.tell(),
        None => BaseModels::default(),
    };
    let security = tls::Security::of(&args.serving.tls)?;
    runtime()?.block_on(async {
        let running = Running::start(args, models, security.as_ref()).await?;
        tracing::info!(
            names = running.models.load().len(),
            extproc = %running.server.address(),
            health = %running.health.address(),
            metrics = %running.admin.address(),
            tls = security.is_some(),
            strict = args.routing.strict,
            "body-based routing is ready"
        );
        let changes = map.map_or_else(|| Ok(watch::Changes::none()), watch::path);
        let changes = changes.context("the LoRA map cannot be watched")?;
        let why = tokio::select! {
            why = shutdown::requested() => why?,
            never = tls::follow(security.as_ref()) => match never {},
            never = running.follow(map, changes) => match never {},
        };
        tokio::select! {
            () = running.stop(why, args.serving.drain_timeout) => {}
            // Whoever asks twice does not want to wait.
            _ = shutdown::requested() => tracing::warn!("a second signal: the rest is cut"),
        }
        Ok(())
    })
}

/// Body-based routing at work.
#[derive(Debug)]
struct Running {
    models: Arc<ArcSwap<BaseModels>>,
    metrics: Arc<BbrMetrics>,
    observer: Arc<BbrObserver>,
    readiness: Arc<Readiness>,
    server: Server,
    health: Server,
    admin: Admin,
    /// For the admin server.
    bound: Arc<AtomicBool>,
}

// === impl Running ===

impl Running {
    async fn start(
        args: &BbrArgs,
        models: BaseModels,
        security: Option<&tls::Security>,
    ) -> anyhow::Result<Self> {
        let metrics = Arc::new(BbrMetrics::new(env!("CARGO_PKG_VERSION")));
        let observer = Arc::new(BbrObserver::new(Arc::clone(&metrics)));
        let models = Arc::new(ArcSwap::from_pointee(models));
        let settings = settings(args, Arc::clone(&models));
        let processor: Arc<dyn Processor> = Arc::new(Bbr::new(
            Arc::new(settings),
            Arc::<BbrObserver>::clone(&observer),
        ));
        let readiness = Arc::<Readiness>::default();
        let health: Arc<dyn Health> = Arc::<Readiness>::clone(&readiness);
        let serving = &args.serving;
        let ip = serving.address.unwrap_or_else(everywhere);
        let listener = listen((ip, serving.grpc_health_port).into(), "--grpc-health-port")?;
        let asked = Server::process(
            listener,
            Plain,
            Arc::clone(&processor),
            Arc::clone(&health),
            options(Some(1), Services::Health),
        );
        let asked = asked.context("the health service cannot start")?;
        let listener = listen((ip, serving.grpc_port).into(), "--grpc-port")?;
        let options = options(args.limits.workers, Services::Processing);
        let server = match security {
            None => Server::process(listener, Plain, processor, health, options),
            Some(security) => {
                Server::process(listener, security.upgrade(), processor, health, options)
            }
        };
        let server = server.context("the external processor cannot start")?;
        let bound = Arc::new(AtomicBool::new(true));
        let state = AdminState::bbr(Arc::clone(&metrics), Arc::clone(&bound));
        let admin =
            Admin::start((ip, serving.metrics_port).into(), state, "--metrics-port").await?;
        Ok(Self {
            models,
            metrics,
            observer,
            readiness,
            server,
            health: asked,
            admin,
            bound,
        })
    }

    /// Follows the map at `path` for ever.
    async fn follow(&self, path: Option<&Path>, mut changes: watch::Changes) -> Infallible {
        let Some(path) = path else {
            return std::future::pending().await;
        };
        loop {
            changes.next().await;
            match lora_map::load(path) {
                Ok(loaded) => {
                    let models = loaded.tell();
                    tracing::info!(names = models.len(), "the LoRA map has changed");
                    self.models.store(Arc::new(models));
                    self.metrics.reloaded(true);
                }
                Err(error) => {
                    self.metrics.reloaded(false);
                    for fault in &error.faults {
                        tracing::error!("{fault}");
                    }
                    tracing::error!("the new LoRA map is refused; the last good one stays");
                }
            }
        }
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

fn settings(args: &BbrArgs, models: Arc<ArcSwap<BaseModels>>) -> Settings {
    Settings {
        body_limit: args.limits.max_body_mib << 20,
        budget: Arc::new(Budget::new(args.limits.max_bodies_mib << 20)),
        strict: args.routing.strict,
        models,
    }
}

fn options(workers: Option<usize>, services: Services) -> Options {
    Options {
        workers,
        services,
        ..Options::default()
    }
}
