//! The in-tree plugins that need no IO, one file each.
