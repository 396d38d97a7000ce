//! A listening replica and its handle.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context as _;
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::config::{Config, Tuning};
use crate::engine::Engine;
use crate::knobs::FakeLoad;
use crate::request_log::ReceivedRequest;
use crate::server;

/// A replica that listens on the caller's runtime. Dropping it closes its port and connections.
#[derive(Debug)]
pub struct Replica {
    engine: Arc<Engine>,
    task: JoinHandle<()>,
}

/// What a replica counted. A sequence is one choice of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Sequences that were queued.
    pub started: u64,
    /// Sequences that said all of their output.
    pub finished: u64,
    /// Sequences that were dropped before their end, because the client went away.
    pub aborted: u64,
    /// Sequences that hold a slot now.
    pub running: usize,
    /// Sequences that wait for a slot now.
    pub waiting: usize,
    /// Prompt tokens of admitted sequences.
    pub prompt_tokens: u64,
    /// Output tokens said, those of aborted sequences included.
    pub generation_tokens: u64,
    /// Prompt tokens looked up in the KV cache.
    pub kv_queries: u64,
    /// Prompt tokens found in the KV cache.
    pub kv_hits: u64,
    /// Blocks that running sequences use, as a share of all, 0 to 1.
    pub kv_cache_usage: f64,
}

/// Runs one replica until the future is dropped.
///
/// # Errors
/// The configuration does not fit together, or the address cannot be listened on.
pub async fn serve(mut config: Config) -> anyhow::Result<()> {
    config.pod_name = config.pod_name.or_else(|| std::env::var("POD_NAME").ok());
    let (listener, engine) = bind(config, false).await?;
    let (address, model) = (engine.address, engine.config.primary_name());
    tracing::info!(%address, model, "simulated model server listens");
    server::run(listener, engine).await;
    Ok(())
}

// === impl Replica ===

impl Replica {
    /// Binds `config.address` and `config.port` (0 takes any free port) and serves.
    ///
    /// # Errors
    /// The configuration does not fit together, or the address cannot be listened on.
    pub async fn start(config: Config) -> anyhow::Result<Self> {
        let (listener, engine) = bind(config, true).await?;
        let serving = Arc::clone(&engine);
        let task = tokio::spawn(server::run(listener, serving));
        Ok(Self { engine, task })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.engine.address
    }

    /// What it was started with; [`Self::tuning`] is what has changed since.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.engine.config
    }

    /// Counts of now.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let load = self.engine.scheduler.load();
        let tally = &self.engine.tally;
        let metrics = self.engine.metrics.lock();
        Stats {
            started: tally.started.load(Ordering::Relaxed),
            finished: tally.finished.load(Ordering::Relaxed),
            aborted: tally.aborted.load(Ordering::Relaxed),
            running: load.running,
            waiting: load.waiting,
            prompt_tokens: metrics.prompt_tokens,
            generation_tokens: metrics.generation_tokens,
            kv_queries: metrics.cache_queries,
            kv_hits: metrics.cache_hits,
            kv_cache_usage: load.kv_cache_usage,
        }
    }

    /// The latest requests, oldest first: at most 1000, without scrapes and health checks.
    #[must_use]
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.engine
            .log
            .as_ref()
            .map(|log| log.lock().to_vec())
            .unwrap_or_default()
    }

    /// Forgets the requests received so far.
    pub fn clear_received(&self) {
        if let Some(log) = &self.engine.log {
            log.lock().clear();
        }
    }

    /// Delays and failures as they are now.
    #[must_use]
    pub fn tuning(&self) -> Tuning {
        self.engine.knobs.tuning()
    }

    /// Replaces delays and failures; running sequences use them from their next token on.
    pub fn set_tuning(&self, tuning: Tuning) {
        self.engine.knobs.set_tuning(tuning);
    }

    /// Makes every inference request fail with this status; `None` ends that.
    pub fn set_failure(&self, status: Option<StatusCode>) {
        self.engine.knobs.set_failure(status);
    }

    /// Switches the metrics page; while off it answers 503.
    pub fn set_metrics(&self, on: bool) {
        self.engine.knobs.set_metrics(on);
    }

    /// Makes the metrics page tell this load; `None` tells the true one again.
    pub fn set_fake_load(&self, load: Option<FakeLoad>) {
        self.engine.knobs.set_fake_load(load);
    }

    /// While stalled, no sequence says a token and requests hang.
    pub fn set_stalled(&self, stalled: bool) {
        self.engine.knobs.set_stalled(stalled);
    }

    /// Closes the port and all connections at once.
    pub async fn stop(mut self) {
        self.task.abort();
        // The result is the cancellation that was just asked for.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn bind(config: Config, record: bool) -> anyhow::Result<(TcpListener, Arc<Engine>)> {
    config.tuning.validate().map_err(anyhow::Error::msg)?;
    if config.max_model_len < 2 {
        anyhow::bail!(
            "`max-model-len` is {}; accepted: 2 or more",
            config.max_model_len
        );
    }
    let wanted = SocketAddr::new(config.address, config.port);
    let listener = TcpListener::bind(wanted)
        .await
        .with_context(|| format!("cannot listen on `{wanted}`"))?;
    let address = listener
        .local_addr()
        .context("the listener has no address")?;
    Ok((listener, Arc::new(Engine::new(config, address, record))))
}
