//! Plugins that choose endpoints.

pub mod picker;
pub mod profile;
pub mod scorer;
