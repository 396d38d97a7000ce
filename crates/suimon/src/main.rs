//! The `suimon` command.

fn main() {}
