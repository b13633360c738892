//! The rows of the project's table of attacks against the whole organism: each from outside, at the
//! door of the real program, and where it makes sense from inside, through a listener that prints the
//! bytes. What a reader of bytes decides alone is shown by the kit's own tests.

mod characters;
mod constructs;
mod keys;
mod leases;
mod names;
mod shapes;
