//! `single-profile-handler`: runs the one profile there is.
//!
//! # What it does
//! Runs the one scheduling profile and follows its choice.
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
//! type: single-profile-handler
//! ```

use std::sync::Arc;

use suimon_picker::plugin::NoParams;
use suimon_picker::role::ProfileHandler;
use suimon_picker::schedule::{ProfileSet, Results};
use suimon_picker::{BuildContext, BuildError, PickError, Plugin, Roles, Stability, View};

/// See the module.
#[derive(Debug)]
pub struct SingleProfileHandler;

impl Plugin for SingleProfileHandler {
    const TYPE: &'static str = "single-profile-handler";
    const STABILITY: Stability = Stability::Beta;
    const SUMMARY: &'static str = "runs the one profile there is";
    type Params = NoParams;

    fn build(_: NoParams, _: &mut BuildContext<'_>) -> Result<Self, BuildError> {
        Ok(Self)
    }

    fn roles(self: Arc<Self>, roles: &mut Roles) {
        roles.profile_handler(self);
    }
}

// === impl SingleProfileHandler ===

impl ProfileHandler for SingleProfileHandler {
    fn next(&self, _: &View<'_>, results: &Results) -> ProfileSet {
        ProfileSet::one(0).without(results.ran())
    }

    fn finish(&self, _: &Results) -> Result<usize, PickError> {
        Ok(0)
    }

    fn check(&self, profiles: &[&str]) -> Result<(), String> {
        match profiles.len() {
            1 => Ok(()),
            n => Err(format!(
                "single-profile-handler takes exactly one profile, got {n}"
            )),
        }
    }
}
