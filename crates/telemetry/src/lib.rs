//! The one list of metric names, labels and reason codes, and the registry behind `/metrics`.
//!
//! It does not record anything by itself: crates hold the handles they need. Nothing here does IO.
//!
//! | file | what |
//! |---|---|
//! | [`reason`] | why a request ended as it did: the one table of status, code, label and blame |
//! | [`metrics`] | names, help texts, buckets and labels of every series |
//! | [`labels`] | bounded label values: a client cannot grow the registry |

#![forbid(unsafe_code)]

pub mod labels;
pub mod metrics;
pub mod reason;

pub use labels::BoundedSet;
pub use metrics::Metrics;
pub use reason::{Blame, Reason, Retry, Source};
