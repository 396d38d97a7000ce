//! Files → world → pools and snapshot; and the long-running commands. Explicit construction: each
//! part is made here and handed to those that need it.

pub mod bbr;
mod drain;
pub mod epp;
pub mod gateway;
pub mod load;
pub mod pools;
pub mod publish;
mod remote;
pub mod sim;
mod tls;
pub mod up;
mod watch;
