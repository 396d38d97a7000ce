//! What the admin server of a process says.

use std::net::SocketAddr;

use serde_json::Value;

use crate::wait::eventually;
use crate::wire::{Message, Wire, get};

/// The answer to a GET.
///
/// # Panics
/// When there is no whole response.
#[must_use]
pub fn ask(admin: SocketAddr, path: &str) -> Message {
    Wire::connect(admin).ask(get(path, ""))
}

/// The endpoints of the first pool as `/api/pools` has them.
///
/// # Panics
/// When there is no pool.
#[must_use]
pub fn endpoints(admin: SocketAddr) -> Vec<Value> {
    let pools = ask(admin, "/api/pools").json();
    let endpoints = pools["pools"][0]["endpoints"].as_array();
    endpoints.expect("a pool").clone()
}

/// The decision on a request, once it has ended.
///
/// # Panics
/// When there is none in time.
#[must_use]
pub fn decision(admin: SocketAddr, request_id: &str) -> Value {
    eventually("the decision with its outcome", || {
        let all = ask(admin, "/api/decisions?limit=1000").json();
        let found = all
            .as_array()?
            .iter()
            .find(|one| one["requestId"] == request_id)?;
        (!found["outcome"].is_null()).then(|| found.clone())
    })
}
