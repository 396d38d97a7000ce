//! A child process whose log is kept.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::wait::{assert_eventually, eventually};
use crate::wire::{Wire, get};

/// Lines of the log that a failing test shows.
const SHOWN_LINES: usize = 30;

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: Arc<Mutex<String>>,
}

// === impl Process ===

impl Process {
    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn spawn(mut command: Command) -> Self {
        let child = command
            .env_remove("SUIMON_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.expect("it starts");
        let log = Arc::new(Mutex::new(String::new()));
        capture(child.stdout.take().unwrap(), &log);
        capture(child.stderr.take().unwrap(), &log);
        Self { child, log }
    }

    /// Waits until `/ready` at `admin` is 200.
    ///
    /// # Panics
    /// When it ends before or takes too long.
    pub fn await_ready(&mut self, admin: SocketAddr) {
        self.await_that("it is ready", || {
            let stream = TcpStream::connect(admin).ok()?;
            let mut wire = Wire::new(stream);
            (wire.ask(get("/ready", "")).status() == 200).then_some(())
        });
    }

    /// Waits until `find` finds something.
    ///
    /// # Panics
    /// When the process ends before or it takes too long; `what` was awaited.
    pub fn await_that<T>(&mut self, what: &str, mut find: impl FnMut() -> Option<T>) -> T {
        eventually(what, || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("it ended with {status}:\n{}", self.log());
            }
            find()
        })
    }

    /// All that it has said.
    #[must_use]
    pub fn log(&self) -> String {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Waits until its log has `text`, `count` times.
    ///
    /// # Panics
    /// When it does not come.
    pub fn await_log(&self, text: &str, count: usize) {
        assert_eventually(&format!("`{text}` {count} times in the log"), || {
            self.log().matches(text).count() >= count
        });
    }

    /// Id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM.
    ///
    /// # Panics
    /// When there is no shell.
    pub fn terminate(&self) {
        let kill = format!("kill -TERM {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end.
    pub fn await_end(&mut self) -> ExitStatus {
        eventually("the process ends", || self.child.try_wait().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; a test that fails shows its log.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().rev().take(SHOWN_LINES).collect();
            eprintln!(
                "=== end of its log, newest first\n{}\n===",
                lines.join("\n")
            );
        }
    }
}

fn capture(from: impl Read + Send + 'static, log: &Arc<Mutex<String>>) {
    let log = Arc::clone(log);
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push_str(&line);
            log.push('\n');
        }
    });
}
