//! The outside: the pump's ports on a real machine. Only these modules read clocks, draw random
//! bytes and do I/O. Of the other modules they import only `types` of the core.

pub mod archive;
