//! Model-server simulator.
