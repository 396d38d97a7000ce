//! The plugin contract and the engine that picks an endpoint for a request.
//!
//! It does no IO: clocks and randomness are passed in, metrics and membership are stored by others.
//!
//! | file | what |
//! |---|---|
//! | [`request`] | what a pick is asked about, and who may be asked: [`EndpointPicker`] |
//! | [`decision`] | what a pick answers, and the in-flight guard |
//! | [`endpoint`] | one endpoint with its live state |
//! | [`metrics`] | what a scrape tells of a model server |
//! | [`record`] | what the admin API shows of a decision |
//! | [`error`] | why nothing was picked |

#![forbid(unsafe_code)]

pub mod decision;
pub mod endpoint;
pub mod error;
pub mod metrics;
pub mod record;
pub mod request;

pub use decision::{Decision, InFlight, ModelNames};
pub use endpoint::{Endpoint, EndpointSpec};
pub use error::PickError;
pub use metrics::{Load, Lora, Metrics};
pub use record::Record;
pub use request::{EndpointPicker, PickRequest, Picking};
