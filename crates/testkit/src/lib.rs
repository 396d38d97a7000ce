//! Test harness: simulated pools, raw clients, fixtures, allocation counting.
