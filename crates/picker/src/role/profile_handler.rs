//! Decides which profiles run and which one's choice the request follows.

use crate::error::PickError;
use crate::schedule::{ProfileSet, Results};
use crate::view::View;

/// Decides which profiles run, in rounds, and which one's choice the request follows.
pub trait ProfileHandler: Send + Sync {
    /// Profiles to run now, among those that have no result yet. Empty: go on to `finish`.
    fn next(&self, view: &View<'_>, results: &Results) -> ProfileSet;

    /// Index of the primary profile.
    ///
    /// # Errors
    /// When no profile that the request needs gave an endpoint.
    fn finish(&self, results: &Results) -> Result<usize, PickError>;

    /// Checks the number of configured profiles when the engine is built.
    ///
    /// # Errors
    /// A sentence that says what is accepted.
    fn check(&self, profiles: &[&str]) -> Result<(), String>;
}
