//! Fairness policies.

pub mod global_strict;
