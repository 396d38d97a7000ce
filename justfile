# Short names for the commands that people type. CI and the README use `cargo xtask` itself.

default:
    @just --list

# Fast checks: format, dependencies, sizes, generated files, lints
check:
    cargo fmt --all -- --check
    cargo xtask deps
    cargo xtask budget
    cargo xtask gen --check
    cargo clippy --workspace --all-targets -- -D warnings

# Everything that must pass before a merge; `just test --quick` installs nothing
test *ARGS:
    cargo xtask test {{ARGS}}

# Tests of one crate
test-crate CRATE:
    cargo test -p {{CRATE}}

# Write schema/ and docs/reference/
gen:
    cargo xtask gen

# Benchmarks whose name contains FILTER, against their bars
bench *FILTER:
    cargo xtask bench {{FILTER}}

# One fuzz target, or all
fuzz TARGET="all" SECONDS="60":
    cargo xtask fuzz {{TARGET}} --seconds {{SECONDS}}

# Gateway, dashboard and simulated replicas on this machine
run *ARGS:
    cargo run --release -- up {{ARGS}}

# The skeleton of a plugin and its catalogue line: just new-plugin scorer my-name
new-plugin ROLE NAME:
    cargo xtask new-plugin {{ROLE}} {{NAME}}

# Licences, known faults, banned crates (needs `cargo install cargo-deny`)
deny:
    cargo deny check
