//! The plugin contract and the engine that picks an endpoint for a request.
//!
//! It does no IO: clocks and randomness are passed in, metrics and membership are stored by others.
//!
//! | file | what |
//! |---|---|
//! | [`pick`] | **the walk**: request → decision, and [`PoolPicker`] |
//! | [`request`], [`decision`], [`error`] | what a pick is asked and answers |
//! | [`follow`] | how a foreign picker follows the response |
//! | [`subset`], [`control`], [`request_id`] | what front doors of a picker have in common |
//! | [`schedule`] | profiles: filters, scorers, picker |
//! | [`plugin`] | the contract: [`Plugin`], [`Roles`], [`BuildContext`] |
//! | [`role`] | what plugins can be, one trait a file |
//! | [`registry`], [`build`](mod@build), [`engine`], [`effective`] | catalogue + configuration → engine |
//! | [`graph`], [`columns`], [`attribute`] | who produces what for whom, and where it is kept |
//! | [`view`] | what plugins see |
//! | [`pool`], [`endpoint`], [`metrics`] | the pool, its endpoints, their live state |
//! | [`rewrite`] | InferenceModelRewrite |
//! | [`recorder`], [`record`] | what the admin API shows of decisions |
//! | [`clock`] | time, passed in |

#![forbid(unsafe_code)]

pub mod attribute;
pub mod build;
pub mod clock;
pub mod columns;
pub mod control;
pub mod decision;
pub mod effective;
pub mod endpoint;
pub mod engine;
pub mod error;
pub mod follow;
pub mod graph;
pub mod metrics;
pub mod pick;
pub mod plugin;
pub mod pool;
pub mod record;
pub mod recorder;
pub mod registry;
pub mod request;
pub mod request_id;
pub mod rewrite;
pub mod role;
pub mod schedule;
mod scratch;
pub mod subset;
pub mod view;

pub use build::{ConfigError, build};
pub use clock::{Clock, SystemClock};
pub use columns::{Attribute, Columns, Key, StateKey, States};
pub use decision::{Decision, InFlight, ModelNames};
pub use effective::Effective;
pub use endpoint::{Endpoint, EndpointSpec};
pub use engine::{Engine, Feed};
pub use error::PickError;
pub use follow::{DirectAnswer, Follow, FollowError, Piece};
pub use metrics::{Load, Lora, Metrics};
pub use pick::{PickerParts, PoolPicker};
pub use plugin::{BuildContext, BuildError, Descriptor, Plugin, Resources, Roles, Stability};
pub use pool::PoolSnapshot;
pub use record::Record;
pub use recorder::Recorder;
pub use registry::Registry;
pub use request::{Body, EndpointPicker, PickRequest, Picking, Unreadable};
pub use rewrite::RewriteTable;
pub use subset::Subset;
pub use view::{Places, Produce, Request, Scheduled, View};
