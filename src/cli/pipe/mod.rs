//! A door of an organism on stdin and stdout, for a host that starts this program.

mod lines;
mod serve;

pub(super) use serve::run_serve;
