//! Documents that users write: Kubernetes kinds, gateway and picker configuration, in wire form.
//!
//! Wire form means: what the text says, nothing resolved. Enumerations are strings here, because a
//! value that this version does not know must become a condition on the object, not a failure to
//! read it; what reads the types decides. Kinds that a user writes for the gateway refuse unknown
//! fields; kinds of the cluster (Pod, Service, …) pass over what is not needed.
//!
//! | file | what |
//! |---|---|
//! | [`document`] | text → [`Object`]s, with errors that say file, document, line, field and cause |
//! | [`object`] | the kinds and how they are told apart |
//! | [`meta`] | metadata, label selectors, references |
//! | [`gateway`], [`http_route`], [`reference_grant`] | Gateway API |
//! | [`inference_pool`], [`inference_objective`], [`model_rewrite`] | inference extension |
//! | [`cluster`] | Namespace, Service, EndpointSlice, Pod, Secret, ConfigMap |
//! | [`base_model`](mod@base_model) | ConfigMaps with the adapters of a base model |
//! | [`picker_config`] | EndpointPickerConfig |
//! | [`discovery`] | the endpoint list of a `file-discovery` plugin |
//! | [`duration`], [`quantity`] | durations and quantities as strings |

#![forbid(unsafe_code)]

pub mod base_model;
pub mod cluster;
mod decode;
pub mod discovery;
pub mod document;
pub mod duration;
pub mod gateway;
pub mod http_route;
pub mod inference_objective;
pub mod inference_pool;
pub mod meta;
pub mod model_rewrite;
pub mod object;
pub mod picker_config;
pub mod quantity;
pub mod reference_grant;

pub use base_model::{BaseModel, base_model};
pub use decode::{ConfigError, from_value, nearest};
pub use document::{Document, DocumentError, parse_documents};
pub use object::Object;
pub use picker_config::{EndpointPickerConfig, parse_picker_config};
