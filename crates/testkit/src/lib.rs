//! Test harness: what tests of the whole product share.
//!
//! A test starts model servers ([`Sims`] that behave like vLLM, or a [`FakeServer`] that says exactly
//! the bytes it is told to), a [`Gateway`] in front of them as a child process, as users run it, and
//! talks to it by [`Wire`], a client that shows every byte. All is blocking: a test reads from top to
//! bottom. Whatever goes wrong here panics with what was expected and the gateway's log, so that the
//! test that needed it fails.
//!
//! | file | what |
//! |---|---|
//! | [`gateway`] | a gateway as a child process |
//! | [`epp`] | `suimon epp` as a child process, and Envoy in front of it |
//! | [`process`], [`admin`] | a child process, and what its admin server says |
//! | [`documents`] | YAML of the documents that tests need |
//! | [`processor`] | a proxy that asks an external processor |
//! | [`sims`], [`fake_server`] | model servers |
//! | [`fake_picker`] | other people's endpoint pickers |
//! | [`wire`] | a raw HTTP/1.1 connection and its messages |
//! | [`fixtures`] | requests, responses and metrics pages captured from vLLM |
//! | [`wait`] | waiting for conditions |
//! | [`ports`] | free ports |

#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a harness that fails fails its test"
)]

pub mod admin;
pub mod documents;
pub mod epp;
pub mod fake_picker;
pub mod fake_server;
pub mod fixtures;
pub mod gateway;
pub mod ports;
pub mod process;
pub mod processor;
pub mod sims;
pub mod wait;
pub mod wire;

pub use epp::{Envoy, Epp, Ports};
pub use fake_picker::{Act, FakePicker};
pub use fake_server::{Answer, FakeServer};
pub use gateway::{Gateway, GatewayOptions};
pub use sims::Sims;
pub use wait::{PATIENCE, assert_eventually, eventually};
pub use wire::{Message, Wire, chat_body, get, post};
