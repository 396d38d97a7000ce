//! A gateway as a child process, as users run it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::admin;
use crate::ports::free_port;
use crate::process::Process;
use crate::wire::{Message, Wire, chat_body, post};

/// How to start a gateway.
#[derive(Debug, Clone, Default)]
pub struct GatewayOptions {
    /// Further flags.
    pub flags: Vec<String>,
    /// Whether to return at once and not when it is ready.
    pub no_wait: bool,
}

/// A running gateway. Dropping it ends the process.
#[derive(Debug)]
pub struct Gateway {
    /// Where clients connect: what `@PORT@` in the documents became.
    pub address: SocketAddr,
    /// Where the admin server listens.
    pub admin: SocketAddr,
    /// The folder of its documents; `gateway.yaml` is the one it was started with.
    pub config: PathBuf,
    process: Process,
    /// Holds the folder.
    _folder: TempDir,
}

/// What a command that ends by itself said.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs a command of the binary to its end.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn run(binary: &str, arguments: &[&str]) -> Finished {
    let output = Command::new(binary)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Finished {
        status: output.status,
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

// === impl Gateway ===

impl Gateway {
    /// Starts `suimon gateway` on documents and waits until it is ready. `binary` is
    /// `env!("CARGO_BIN_EXE_suimon")`.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn start(binary: &str, documents: &str) -> Self {
        Self::start_with(binary, documents, &GatewayOptions::default())
    }

    /// The same with options.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn start_with(binary: &str, documents: &str, options: &GatewayOptions) -> Self {
        let (port, admin_port) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        std::fs::create_dir(&config).unwrap();
        write(
            &config,
            "gateway.yaml",
            &documents.replace("@PORT@", &port.to_string()),
        );
        let mut command = Command::new(binary);
        command.arg("gateway").arg("--config").arg(&config);
        Self::spawn(command, (port, admin_port), options, folder, config)
    }

    /// Starts `suimon up` with these flags and waits until it is ready.
    ///
    /// # Panics
    /// When it does not become ready.
    #[must_use]
    pub fn up(binary: &str, flags: &[&str]) -> Self {
        let (port, admin_port) = (free_port(), free_port());
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().to_owned();
        let mut command = Command::new(binary);
        command
            .args(["up", "--port", &port.to_string()])
            .args(flags);
        Self::spawn(
            command,
            (port, admin_port),
            &GatewayOptions::default(),
            folder,
            config,
        )
    }

    fn spawn(
        mut command: Command,
        (port, admin_port): (u16, u16),
        options: &GatewayOptions,
        folder: TempDir,
        config: PathBuf,
    ) -> Self {
        command
            .args(["--admin-port", &admin_port.to_string()])
            .args(&options.flags);
        let process = Process::spawn(command);
        let mut gateway = Self {
            address: ([127, 0, 0, 1], port).into(),
            admin: ([127, 0, 0, 1], admin_port).into(),
            config,
            process,
            _folder: folder,
        };
        if !options.no_wait {
            gateway.await_ready();
        }
        gateway
    }

    /// Waits until it is ready.
    ///
    /// # Panics
    /// When it ends before or takes too long.
    pub fn await_ready(&mut self) {
        self.process.await_ready(self.admin);
    }

    /// A new connection to it.
    ///
    /// # Panics
    /// When it takes none.
    #[must_use]
    pub fn client(&self) -> Wire {
        Wire::connect(self.address)
    }

    /// Sends one request on a connection of its own.
    ///
    /// # Panics
    /// When there is no whole response.
    #[must_use]
    pub fn ask(&self, request: impl AsRef<[u8]>) -> Message {
        self.client().ask(request)
    }

    /// A chat, see [`chat_body`].
    ///
    /// # Panics
    /// When there is no whole response.
    #[must_use]
    pub fn chat(&self, model: &str, messages: &[&str]) -> Message {
        self.ask(post(
            "/v1/chat/completions",
            &chat_body(model, messages),
            "",
        ))
    }

    /// What the admin server says to a GET.
    ///
    /// # Panics
    /// When there is no whole response.
    #[must_use]
    pub fn admin(&self, path: &str) -> Message {
        admin::ask(self.admin, path)
    }

    /// JSON of the admin server.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn api(&self, path: &str) -> Value {
        admin::ask(self.admin, path).json()
    }

    /// The endpoints of the first pool as `/api/pools` has them.
    ///
    /// # Panics
    /// When there is no pool.
    #[must_use]
    pub fn endpoints(&self) -> Vec<Value> {
        admin::endpoints(self.admin)
    }

    /// The decision on a request, once it has ended.
    ///
    /// # Panics
    /// When there is none in time.
    #[must_use]
    pub fn decision(&self, request_id: &str) -> Value {
        admin::decision(self.admin, request_id)
    }

    /// Replaces a document of its folder, at once, as an editor or a ConfigMap mount does.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, name: &str, documents: &str) {
        let port = self.address.port().to_string();
        write(&self.config, name, &documents.replace("@PORT@", &port));
    }

    /// All that it has said.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Waits until its log has `text`, `count` times.
    ///
    /// # Panics
    /// When it does not come.
    pub fn await_log(&self, text: &str, count: usize) {
        self.process.await_log(text, count);
    }

    /// Id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends SIGTERM.
    ///
    /// # Panics
    /// When there is no shell.
    pub fn terminate(&self) {
        self.process.terminate();
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn await_end(&mut self) -> ExitStatus {
        self.process.await_end()
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    let draft = folder.join(format!(".{name}.draft"));
    std::fs::write(&draft, text).unwrap();
    std::fs::rename(draft, folder.join(name)).unwrap();
}
