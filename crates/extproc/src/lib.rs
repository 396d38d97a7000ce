//! The endpoint picker as an external processor of Envoy: the messages, the session of one request,
//! and the gRPC server.
//!
//! | file | what |
//! |---|---|
//! | [`message`] | the messages of `envoy.service.ext_proc.v3`, both directions |
//! | [`codec`] | messages to bytes and back |
//! | [`session`] | **one request**: messages in, replies out, without IO |
//! | [`server`] | the gRPC server |
//! | `wire`, `grpc` | protocol buffers, and messages of gRPC in DATA frames |

#![forbid(unsafe_code)]

pub mod codec;
mod grpc;
pub mod message;
pub mod server;
pub mod session;
mod wire;

pub use server::{Health, Options, Parts, Server, Serving, Transport, Upgrade};
pub use session::{Destinations, Ended, Observer, Reading, Session, Settings, Silent};
pub use wire::DecodeError;
