//! Kubernetes objects in, routing table and statuses out; and the matcher that reads the table.
//!
//! Pure: no IO, no clock. It does not proxy and it does not watch.
//!
//! | file | what |
//! |---|---|
//! | [`world`] | plain maps of all objects |
//! | [`translate`] | world → [`Translation`]: table, pools, statuses, problems |
//! | [`table`] | the compiled table |
//! | [`matcher`] | request head → rule |
//! | [`split`] | weighted choice of a backend |
//! | [`status`] | conditions and their reasons |

#![forbid(unsafe_code)]

pub mod table;
