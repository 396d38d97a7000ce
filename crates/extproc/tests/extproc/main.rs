//! The external processor by its public interface: messages against generated ones, sessions without
//! IO, and the server on real sockets.

mod oracle;
mod properties;
mod requests;
mod responses;
mod server;
mod support;
mod theirs;
