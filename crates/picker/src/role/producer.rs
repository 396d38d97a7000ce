//! Computes per-endpoint values for other plugins.

use crate::view::Produce;

/// Computes per-endpoint values that other plugins declared a need for.
///
/// Runs once a request before scheduling, after the producers it depends on. What it leaves
/// unwritten is the default of its attribute. It must not block.
pub trait Producer: Send + Sync {
    /// Writes the columns that the plugin declared with `produce`.
    fn produce(&self, pick: &mut Produce<'_>);
}
