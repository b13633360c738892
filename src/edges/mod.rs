//! The outside: what implements the ports of `words::ports` with files, processes and sockets.
//!
//! Edges import `words` and the kit, and nothing else of the house.

pub mod delivery;
pub mod tasks;
