//! The outside: everything that touches a file, a socket, a process or a foreign library.
//!
//! Each edge stands behind a port of `words` and knows nothing of the rules. What comes in is turned
//! into words at once; no type of a foreign library leaves its edge.

pub mod schemas;
