//! Says how full a pool is.

use crate::view::View;

/// Says how full a pool is. At 1.0 and above requests of negative priority are shed.
pub trait SaturationDetector: Send + Sync {
    /// Saturation of `candidates`: 0 idle, 1 at the set point; 1 for no candidates.
    fn saturation(&self, view: &View<'_>, candidates: &[u32]) -> f64;
}
