//! Ordering policies.

pub mod fcfs;
