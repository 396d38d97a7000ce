//! Picks through a whole engine: plugins, walk, ledger and records together.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod apis;
#[cfg(test)]
mod conversation;
#[cfg(test)]
mod grpc;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod ledger;
#[cfg(test)]
mod model;
#[cfg(test)]
mod pool;
#[cfg(test)]
mod prefix;
#[cfg(test)]
mod records;
#[cfg(test)]
mod unreadable;
