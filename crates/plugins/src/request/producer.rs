//! Producers.

pub mod approx_prefix;
pub mod in_flight_load;
