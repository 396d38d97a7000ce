//! Saturation detectors.

pub mod utilization;
