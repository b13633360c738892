//! Commands: which of them need no approval, how one runs, what it keeps, and what it changed.

pub(crate) mod pattern;
pub(crate) mod run;
pub(crate) mod scan;
pub(crate) mod session;
