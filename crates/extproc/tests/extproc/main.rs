//! The external processor by its public interface: messages against generated ones, sessions without
//! IO, and the server on real sockets.

#[cfg(test)]
mod bbr;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod responses;
#[cfg(test)]
mod server;
#[cfg(test)]
mod support;
#[cfg(test)]
mod theirs;
