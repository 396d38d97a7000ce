//! `fcfs-ordering-policy`: orders waiting requests by their arrival.
//!
//! # What it does
//! Names the order in which flow control serves one flow. Without flow control nothing waits and
//! nothing is ordered.
//!
//! # Reads
//! Nothing.
//!
//! # Scores
//! Nothing.
//!
//! # Parameters
//! None.
//!
//! # Example
//! ```yaml
//! type: fcfs-ordering-policy
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::{BuildContext, BuildError, Plugin, Roles, Stability};

/// See the module.
#[derive(Debug)]
pub struct FcfsOrderingPolicy;

impl Plugin for FcfsOrderingPolicy {
    const TYPE: &'static str = "fcfs-ordering-policy";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "orders waiting requests by their arrival";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.policy();
    }
}
