//! Usage limit policies.

pub mod r#static;
