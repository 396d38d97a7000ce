//! Profile handlers.

pub mod single;
