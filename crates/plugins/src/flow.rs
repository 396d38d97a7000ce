//! Plugins of admission and flow control.

pub mod fairness;
pub mod ordering;
pub mod saturation;
pub mod usage_limit;
