//! The data plane: accept, TLS, HTTP/1 and 2, filters, upstream pools, streaming.
//!
//! One thread with its own runtime a core: a connection stays on its thread, so that a request
//! takes no lock that another thread holds. It decides nothing about routes or endpoints: it asks
//! `suimon-routing` and a [`suimon_picker::EndpointPicker`].
//!
//! The walk of a request, a file a step:
//!
//! | file | what |
//! |---|---|
//! | [`server`] | start, publish, drain: the handle that the binary holds |
//! | `listener` | accepts sockets and deals them to the workers |
//! | `worker` | a thread, its runtime, its upstream connections |
//! | `connection` | one client connection: detects the protocol, serves requests |
//! | `tls` | handshake by SNI and ALPN |
//! | `detect` | first byte and HTTP/2 preface |
//! | `head_guard` | framing of raw HTTP/1 heads, before they are parsed |
//! | `serve` | **the walk** |
//! | `head` | checks on the parsed head |
//! | `route_request` | head (and model) to rule |
//! | `body` | the request's body: bounded buffer, decoded, scanned once |
//! | `filter` | header edits, redirect, rewrite, mirror |
//! | `backend` | pool or Service: where the request goes |
//! | `fail_mode` | what happens when a picker fails |
//! | `retry` | the next endpoint of a decision |
//! | `forward` | one try at one endpoint |
//! | `upstream` | connections to endpoints |
//! | `upgrade` | WebSocket and the like, to Services |
//! | `respond` | response heads: forwarded ones and errors |
//! | `stream` | response bodies, chunk by chunk |
//! | `exchange` | the account of one request, closed once |
//! | [`access_log`] | one line a request |
//! | `hop`, `timeouts`, `failure` | small rules that several steps share |
//! | [`events`] | what others are told of each request |
//! | [`snapshot`] | all configuration that a request reads |

#![forbid(unsafe_code)]

mod backend;
mod body;
mod connection;
mod detect;
mod exchange;
mod fail_mode;
mod failure;
mod filter;
mod forward;
mod head;
mod head_guard;
mod hop;
mod listener;
mod respond;
mod retry;
mod route_request;
mod serve;
mod stream;
mod timeouts;
mod tls;
mod upgrade;
mod upstream;
mod worker;

pub mod access_log;
pub mod events;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod server;
pub mod snapshot;
mod source;

pub use access_log::AccessLog;
pub use events::{Observer, RequestEnd};
pub use server::{Options, PublishError, Published, Server};
pub use snapshot::{Limits, Pool, Snapshot};
