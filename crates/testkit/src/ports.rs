//! Free ports.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports below those that the system gives to outgoing connections: a port that is free now stays
/// free until its user binds it.
const FIRST: u16 = 10_240;
const COUNT: u16 = 20_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of the loopback address that nobody listens on. Never the same twice in one process, and
/// processes begin at different places.
///
/// # Panics
/// When all ports are taken.
#[must_use]
pub fn free_port() -> u16 {
    let start = u16::try_from(std::process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap();
    let candidates = (0..COUNT).map(|_| {
        let turn = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST + (start.wrapping_add(turn)) % COUNT
    });
    let free = |port: &u16| {
        TcpListener::bind(("127.0.0.1", *port)).is_ok()
            && TcpListener::bind(("0.0.0.0", *port)).is_ok()
    };
    candidates.into_iter().find(free).expect("no free port")
}
