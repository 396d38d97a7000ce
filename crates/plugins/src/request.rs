//! Plugins that work on a request before it is scheduled.

pub mod producer;
