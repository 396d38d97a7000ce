//! Kubernetes objects in, routing table and statuses out; and the matcher that reads the table.
//!
//! Pure: no IO, no clock. It does not proxy and it does not watch.
//!
//! | file | what |
//! |---|---|
//! | [`world`] | plain maps of all objects |
//! | [`mod@translate`] | world → [`Translation`]: table, pools, statuses, problems |
//! | [`table`] | the compiled table |
//! | [`matcher`] | request head → rule |
//! | [`split`] | weighted choice of a backend |
//! | [`path`] | the one form of a request path that is matched and sent on |
//! | [`status`] | conditions and their reasons |
//! | [`problem`] | what a user should know about their objects |

#![forbid(unsafe_code)]

pub mod matcher;
pub mod path;
pub mod problem;
pub mod split;
pub mod status;
pub mod table;
pub mod translate;
pub mod world;

pub use matcher::{Head, Matched, Model, Outcome};
pub use problem::{Problem, Severity};
pub use split::choose;
pub use translate::{TranslateOptions, Translation, translate};
pub use world::{Key, World};
