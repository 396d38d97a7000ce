//! Block hashes of prompts, and the index of who holds which prefix. No IO.
//!
//! It does not tokenize and it does not know endpoints: holders are numbers that the caller chose.
//!
//! | file | what |
//! |---|---|
//! | [`block`] | prompt bytes or token ids → chain of block hashes |
//! | [`approx`] | index of prefixes that an endpoint probably holds, since a request went there |

#![forbid(unsafe_code)]

pub mod approx;
pub mod block;
mod lanes;

pub use approx::ApproxIndex;
pub use block::{BlockHash, Chain, Hasher, units_at, units_of};
