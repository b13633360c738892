//! The outside: the pump's ports on a real machine. Only these modules read clocks, draw random
//! bytes and do I/O. Of the other modules they import only `types` of the core.

pub mod clock;
pub mod delivery;
pub mod descriptors;
pub mod failpoint;
pub mod keyfiles;
pub mod leases;
pub mod log;
pub mod managed;
pub mod nats;
pub mod schemas;
pub mod signing_key;
pub mod sockets;
pub mod system;
pub mod tally;
pub mod tasks;
pub mod witness_book;
pub mod witnesses;
