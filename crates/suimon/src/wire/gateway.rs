//! `suimon gateway`: documents from a file or folder.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use suimon_datalayer::scrape::Scraper;
use suimon_picker::{Recorder, Registry};
use suimon_proxy::access_log::Format;
use suimon_proxy::{AccessLog, Limits, Options, PublishError, Server};
use suimon_routing::{Severity, TranslateOptions, Translation, World, translate};
use suimon_telemetry::Metrics;

use super::pools::Shared;
use super::publish::Publisher;
use super::{load, watch};
use crate::admin::{Admin, AdminState};
use crate::cli::{AccessLogFormat, AdminArgs, DataPlaneArgs, GatewayArgs};
use crate::observer::MetricsObserver;
use crate::shutdown;

/// `controllerName` of GatewayClasses that are ours.
pub const CONTROLLER_NAME: &str = "suimon.dev/gateway";

/// A gateway at work: data plane, pools, admin server.
#[derive(Debug)]
pub struct Running {
    server: Server,
    publisher: Arc<Publisher>,
    admin: Admin,
    bound: Arc<AtomicBool>,
    drain: Duration,
}

/// Runs until a signal.
///
/// # Errors
/// The configuration cannot be used, a socket cannot be bound, or the system refuses something.
pub fn run(args: &GatewayArgs, registry: Registry) -> anyhow::Result<()> {
    let world = load::world(&args.config)?;
    runtime()?.block_on(async {
        let running = Running::start(&args.admin, &args.data_plane, registry).await?;
        running.publish_first(translation(&world))?;
        tracing::info!(
            admin = %running.admin.address(),
            config = %args.config.display(),
            "the gateway is ready"
        );
        let changes = watch::path(&args.config).context("the configuration cannot be watched")?;
        running
            .serve(changes, || Ok(translation(&load::world(&args.config)?)))
            .await
    })
}

/// The runtime of everything beside the data plane, whose threads have their own.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.context("no runtime")
}

/// How documents are read without a cluster.
pub(crate) fn standalone() -> TranslateOptions {
    TranslateOptions {
        controller_name: CONTROLLER_NAME.to_owned(),
        standalone: true,
    }
}

/// Translates a world without a cluster and tells its problems to the log.
pub(super) fn translation(world: &World) -> Translation {
    let translation = translate(world, &standalone());
    for problem in &translation.problems {
        let told = problem.told();
        match problem.severity {
            Severity::Note => tracing::debug!("{told}"),
            Severity::Warning => tracing::warn!("{told}"),
            Severity::Error => tracing::error!("{told}"),
        }
    }
    translation
}

// === impl Running ===

impl Running {
    /// Starts everything; nothing is bound for clients yet.
    ///
    /// # Errors
    /// The admin port is taken, or the system refuses a thread.
    pub async fn start(
        admin: &AdminArgs,
        data_plane: &DataPlaneArgs,
        registry: Registry,
    ) -> anyhow::Result<Self> {
        let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION")));
        let shared = Shared {
            scraper: Arc::new(Scraper::start()?),
            recorder: Arc::new(Recorder::new(data_plane.keep_decisions)),
            metrics: Arc::clone(&metrics),
            seed: data_plane.seed,
        };
        let limits = Limits {
            body_bytes: data_plane.max_body_mib << 20,
            in_flight_bytes: data_plane.max_bodies_mib << 20,
            ..Limits::default()
        };
        let publisher = Arc::new(Publisher::new(registry, shared, limits));
        let observer = Arc::new(MetricsObserver::new(metrics));
        let access_log = match data_plane.access_log {
            AccessLogFormat::Off => None,
            AccessLogFormat::Text => Some(Format::Text),
            AccessLogFormat::Json => Some(Format::Json),
        };
        let access_log = access_log.map(|format| AccessLog::start(format, std::io::stderr()));
        let access_log = access_log
            .transpose()
            .context("no access log")?
            .map(Arc::new);
        let options = Options {
            workers: data_plane.workers,
            access_log,
        };
        let server = Server::start(&options, observer).context("the data plane cannot start")?;
        let bound = Arc::new(AtomicBool::new(false));
        let state = AdminState::new(Arc::clone(&publisher), Arc::clone(&bound));
        let address = (admin.admin_address, admin.admin_port).into();
        let admin = Admin::start(address, state, "--admin-port").await?;
        let drain = Duration::from_secs(data_plane.drain_timeout);
        Ok(Self {
            server,
            publisher,
            admin,
            bound,
            drain,
        })
    }

    /// Puts the first configuration to work. Here a socket that cannot be bound is fatal.
    ///
    /// # Errors
    /// Every socket, certificate and picker that cannot be used.
    pub fn publish_first(&self, translation: Translation) -> anyhow::Result<()> {
        let problems = self.publish(translation)?;
        if let Some(first) = problems.into_iter().next() {
            return Err(first.into());
        }
        self.bound.store(true, Ordering::Release);
        Ok(())
    }

    /// A configuration without any listener is refused: it would close everything.
    fn publish(&self, translation: Translation) -> anyhow::Result<Vec<PublishError>> {
        anyhow::ensure!(
            !translation.table.binds.is_empty(),
            "no listener to bind: a Gateway with a listener of protocol HTTP or HTTPS is needed; \
             `suimon check` tells what is wrong with one that is there, and a picker configuration \
             alone is for `suimon up --picker-config`"
        );
        let snapshot = self.publisher.prepare(translation)?;
        let published = self.server.publish(snapshot);
        for (address, local) in &published.listening {
            tracing::debug!(%address, %local, "listening");
        }
        if let Some((_, local)) = published.listening.first() {
            let ip = if local.ip().is_unspecified() {
                Ipv4Addr::LOCALHOST.into()
            } else {
                local.ip()
            };
            self.publisher.set_reach(SocketAddr::new(ip, local.port()));
        }
        self.publisher.count(published.problems.is_empty());
        Ok(published.problems)
    }

    /// Serves until a signal, with a new configuration whenever `changes` tells of one.
    ///
    /// # Errors
    /// The system does not let signals be received.
    pub async fn serve(
        self,
        mut changes: watch::Changes,
        load: impl Fn() -> anyhow::Result<Translation>,
    ) -> anyhow::Result<()> {
        let signal = shutdown::requested();
        tokio::pin!(signal);
        let name = loop {
            tokio::select! {
                name = &mut signal => break name?,
                () = changes.next() => self.reload(load()),
            }
        };
        self.stop(name).await;
        Ok(())
    }

    fn reload(&self, loaded: anyhow::Result<Translation>) {
        let result = loaded.and_then(|translation| self.publish(translation));
        match result {
            Ok(problems) if problems.is_empty() => tracing::info!("the configuration has changed"),
            Ok(problems) => {
                for problem in problems {
                    tracing::error!("{}", crate::chain(&problem.into()));
                }
            }
            Err(error) => {
                self.publisher.count(false);
                for fault in crate::chain(&error).lines() {
                    tracing::error!("{fault}");
                }
                tracing::error!("the new configuration is refused; the last good one stays");
            }
        }
    }

    /// Lets running requests end, then stops everything.
    pub async fn stop(self, why: &str) {
        self.bound.store(false, Ordering::Release);
        tracing::info!("{why}: no new connections; running requests end");
        let cut = tokio::select! {
            cut = self.server.drain(self.drain) => cut,
            // Whoever asks twice does not want to wait.
            _ = shutdown::requested() => {
                tracing::warn!("a second signal: the rest is cut");
                return;
            }
        };
        if cut > 0 {
            tracing::warn!(
                connections = cut,
                "the drain timeout has passed: connections were cut"
            );
        }
        self.admin.stop().await;
    }

    /// Address of the admin server.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.address()
    }
}
