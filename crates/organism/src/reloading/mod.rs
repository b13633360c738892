//! Reloads: an organism goes on with another configuration, and is stopped for a moment that no one outside notices.
//!
//! The process that starts the organism keeps the other end of the desk: orders come out of it, and each is answered with what
//! the reload would change. `in_force` says which configuration counts at a start, `programs` whether programs start.

pub mod in_force;
pub mod orders;
pub mod preview;
pub mod programs;
