//! Names, help texts, buckets and labels of every series.

/// The series of this process.
#[derive(Debug, Default)]
pub struct Metrics {}
