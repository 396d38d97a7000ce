//! External processing as Envoy does it, both ways: our endpoint picker and body-based routing for
//! other people's gateways, and other people's pickers for our gateway.
//!
//! | file | what |
//! |---|---|
//! | [`message`] | the messages of `envoy.service.ext_proc.v3`, both directions |
//! | [`codec`] | messages to bytes and back |
//! | [`bbr`] | body-based routing: the model of a request's body into headers, without IO |
//! | [`session`] | **one request**: messages in, replies out, without IO |
//! | [`server`] | the gRPC server |
//! | [`client`] | the other side: the gateway asks somebody else's picker |
//! | `wire`, `grpc` | protocol buffers, and messages of gRPC in DATA frames |

#![forbid(unsafe_code)]

pub mod bbr;
pub mod client;
pub mod codec;
mod grpc;
pub mod message;
pub mod server;
pub mod session;
mod wire;

pub use client::{ClientError, ClientTls, RemotePicker, RemoteSettings};
pub use server::{
    Exchange, Health, Options, Parts, Plain, Processor, Server, Services, Serving, Transport,
    Upgrade,
};
pub use session::{Destinations, Ended, Observer, Reading, Session, Settings, Silent};
pub use wire::DecodeError;
