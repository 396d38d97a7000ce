//! `suimon epp` as a child process, and Envoy in front of it, both by the files of `examples/envoy`.

use std::fmt::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::admin;
use crate::ports::free_port;
use crate::process::Process;
use crate::wait::eventually;
use crate::wire::{Message, Wire};

const ENVOY: &str = include_str!("../../../examples/envoy/envoy.yaml");
const CONFIG: &str = include_str!("../../../examples/envoy/epp.yaml");

/// Ports and folders of the files, which a test replaces.
const WRITTEN: [&str; 5] = [
    "port_value: 9901",
    "port_value: 8080",
    "port_value: 9002",
    "interval: 1s",
    "examples/envoy/endpoints.yaml",
];

/// Where a picker listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Port of external processing.
    pub grpc: u16,
    /// Port of health.
    pub health: u16,
    /// Port of metrics and dashboard.
    pub metrics: u16,
}

/// A picker that runs. Dropping it ends the process.
#[derive(Debug)]
pub struct Epp {
    /// Where it listens.
    pub ports: Ports,
    /// The process.
    pub process: Process,
    _folder: TempDir,
}

/// An Envoy that runs. Dropping it ends the process.
#[derive(Debug)]
pub struct Envoy {
    /// Where clients connect.
    pub address: SocketAddr,
    /// Its own admin server.
    pub admin: SocketAddr,
    /// The process.
    pub process: Process,
    _folder: TempDir,
}

/// The picker configuration of the example for these endpoints, whose list is put into `folder`.
///
/// # Panics
/// When it cannot be written.
#[must_use]
pub fn configuration(folder: &Path, endpoints: &[SocketAddr]) -> String {
    let list = folder.join("endpoints.yaml");
    let mut text = "endpoints:\n".to_owned();
    for (number, endpoint) in endpoints.iter().enumerate() {
        let (ip, port) = (endpoint.ip(), endpoint.port());
        let _ = writeln!(
            text,
            "- {{name: e{number}, address: {ip}, port: \"{port}\"}}"
        );
    }
    std::fs::write(&list, text).unwrap();
    CONFIG.replace(WRITTEN[4], &list.display().to_string())
}

// === impl Ports ===

impl Ports {
    /// Free ones.
    ///
    /// # Panics
    /// When there are none.
    #[must_use]
    pub fn free() -> Self {
        Self {
            grpc: free_port(),
            health: free_port(),
            metrics: free_port(),
        }
    }
}

// === impl Epp ===

impl Epp {
    /// Starts the picker of the example for these endpoints and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn start(binary: &str, endpoints: &[SocketAddr], ports: Ports, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("epp.yaml");
        std::fs::write(&config, configuration(folder.path(), endpoints)).unwrap();
        let mut command = Command::new(binary);
        command
            .args(["epp", "--pool-name", "models", "--pool-namespace", "test"])
            .args([
                "--address",
                "127.0.0.1",
                "--health-checking",
                "--config-file",
            ])
            .arg(config)
            .args(["--grpc-port", &ports.grpc.to_string()])
            .args(["--grpc-health-port", &ports.health.to_string()])
            .args(["--metrics-port", &ports.metrics.to_string()])
            .args(flags);
        let mut process = Process::spawn(command);
        process.await_ready(([127, 0, 0, 1], ports.metrics).into());
        Self {
            ports,
            process,
            _folder: folder,
        }
    }

    /// Where its admin server listens.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.ports.metrics).into()
    }

    /// The decision on a request, once it has ended.
    ///
    /// # Panics
    /// When there is none in time.
    #[must_use]
    pub fn decision(&self, request_id: &str) -> serde_json::Value {
        admin::decision(self.admin(), request_id)
    }
}

// === impl Envoy ===

impl Envoy {
    /// Starts the Envoy of the example in front of pickers and waits until it uses them all. `edit`
    /// changes the file. The program is the one that the environment variable ENVOY names.
    ///
    /// # Panics
    /// When it does not come up.
    #[must_use]
    pub fn start(pickers: &[Ports], edit: impl FnOnce(String) -> String) -> Self {
        let (port, admin_port) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("envoy.yaml");
        for text in &WRITTEN[..4] {
            assert!(ENVOY.contains(text), "the example has `{text}`");
        }
        let endpoint = ENVOY.lines().find(|line| line.contains(WRITTEN[2]));
        let endpoint = endpoint.unwrap();
        let endpoints: Vec<_> = pickers
            .iter()
            .map(|ports| endpoint.replace("9002", &ports.grpc.to_string()))
            .collect();
        let text = ENVOY
            .replace(WRITTEN[0], &format!("port_value: {admin_port}"))
            .replace(WRITTEN[1], &format!("port_value: {port}"))
            .replace(endpoint, &endpoints.join("\n"))
            .replace(WRITTEN[3], "interval: 0.1s");
        std::fs::write(&file, edit(text)).unwrap();
        let mut process = Process::spawn(command(&file));
        let admin: SocketAddr = ([127, 0, 0, 1], admin_port).into();
        process.await_that("Envoy takes connections", || {
            TcpStream::connect(admin).ok()?;
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        let envoy = Self {
            address: ([127, 0, 0, 1], port).into(),
            admin,
            process,
            _folder: folder,
        };
        envoy.await_pickers(pickers.len());
        envoy
    }

    /// Waits until so many pickers are healthy.
    ///
    /// # Panics
    /// When they are not in time.
    pub fn await_pickers(&self, count: usize) {
        let want = count.to_string();
        eventually("pickers are healthy", || {
            (self.stat("cluster.picker.membership_healthy") == want).then_some(())
        });
    }

    /// One of its counters or gauges.
    ///
    /// # Panics
    /// When it does not answer.
    #[must_use]
    pub fn stat(&self, name: &str) -> String {
        let page = admin::ask(self.admin, "/stats").text();
        let found = page
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        found.unwrap_or_default().to_owned()
    }

    /// Sends one request on a connection of its own.
    ///
    /// # Panics
    /// When there is no whole response.
    #[must_use]
    pub fn ask(&self, request: impl AsRef<[u8]>) -> Message {
        Wire::connect(self.address).ask(request)
    }
}

fn command(file: &Path) -> Command {
    let program = std::env::var("ENVOY").expect("ENVOY names Envoy");
    let mut command = Command::new(program);
    command
        .arg("-c")
        .arg(file)
        .args(["--concurrency", "1", "--log-level", "warn"])
        .args(["--disable-hot-restart"]);
    command
}
