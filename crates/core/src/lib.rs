//! The pure part of the pump: what things are, what is allowed, and what follows from what happened.
//!
//! Events and records come in; decisions and state go out. Nothing here reads a clock, draws a random number, or does I/O:
//! `Cargo.toml` names no crate that could, and a test reads the sources. What needs the outside asks for it through the
//! ports in `types::ports`.

pub mod pump;
pub mod rules;
pub mod types;
