//! The messages of `envoy.service.ext_proc.v3.ExternalProcessor/Process`, as far as a picker and the
//! proxy that asks it need them.
//!
//! Both directions can be read and written. What is not here is skipped when it is read: attributes,
//! typed metadata, flow control and draining.

mod body;
mod common;
mod header;
mod immediate;
mod metadata;
mod mode;
mod request;
mod response;
mod value;

pub use body::{BodyMutation, HttpBody, StreamedBody};
pub use common::{CommonResponse, ReplyStatus};
pub use header::{AppendAction, Header, HeaderMutation, HttpHeaders, HttpTrailers, SetHeader};
pub use immediate::ImmediateResponse;
pub use metadata::Metadata;
pub use mode::{BodyMode, HeaderMode, ProcessingMode, ProtocolConfig};
pub use request::{Part, ProcessingRequest};
pub use response::{ProcessingResponse, Reply};
pub use value::{MAX_DEPTH, Struct, Value};
