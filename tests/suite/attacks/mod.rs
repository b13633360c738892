//! The rows of the project's table of attacks, against the whole organism: each from outside, at the
//! door of the real program, and where it makes sense from inside, through a listener that prints the
//! bytes. Attacks that a byte reader alone decides are in the kit's own tests.

mod characters;
mod constructs;
mod keys;
mod leases;
mod names;
mod shapes;
