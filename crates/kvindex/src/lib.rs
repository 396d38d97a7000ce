//! Block hashes of prompts and the index of who holds which prefix.
