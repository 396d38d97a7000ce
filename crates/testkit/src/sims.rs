//! Simulated replicas on a thread of their own.

use std::net::SocketAddr;
use std::ops::Deref;

use suimon_sim::{Config, Replica};
use tokio::sync::oneshot;

/// Replicas that behave like vLLM. Dropping them closes their ports.
#[derive(Debug)]
pub struct Sims {
    replicas: Vec<Replica>,
    /// Dropping it ends the thread.
    _stop: oneshot::Sender<()>,
}

// === impl Sims ===

impl Sims {
    /// `count` replicas of the model `llama` that answer without delay, named `sim-0` and so on.
    ///
    /// # Panics
    /// When one does not start.
    #[must_use]
    pub fn start(count: usize) -> Self {
        Self::with(count, |_, _| {})
    }

    /// The same with further settings for each.
    ///
    /// # Panics
    /// When one does not start.
    #[must_use]
    pub fn with(count: usize, set: impl Fn(usize, &mut Config)) -> Self {
        let configs: Vec<_> = (0..count)
            .map(|number| {
                let mut config = Config {
                    port: 0,
                    pod_name: Some(format!("sim-{number}")),
                    max_model_len: 32_768,
                    max_num_seqs: 64,
                    ..Config::default()
                };
                set(number, &mut config);
                config
            })
            .collect();
        let (stop, stopped) = oneshot::channel::<()>();
        let (started, replicas) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                for config in configs {
                    started.send(Replica::start(config).await.unwrap()).unwrap();
                }
                drop(started);
                // The end of the test drops the other side.
                let _ = stopped.await;
            });
        });
        let replicas: Vec<_> = replicas.iter().collect();
        assert_eq!(replicas.len(), count, "a replica did not start");
        Self {
            replicas,
            _stop: stop,
        }
    }

    /// Where they listen.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.replicas.iter().map(Replica::address).collect()
    }

    /// How many requests each has received.
    #[must_use]
    pub fn received(&self) -> Vec<usize> {
        self.replicas
            .iter()
            .map(|replica| replica.received().len())
            .collect()
    }
}

impl Deref for Sims {
    type Target = [Replica];

    fn deref(&self) -> &[Replica] {
        &self.replicas
    }
}
