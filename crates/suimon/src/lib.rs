//! An inference gateway: one binary for gateway, endpoint picker, simulator and checks.
