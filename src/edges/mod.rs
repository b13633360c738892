//! The outside: what the pump's ports stand for on a real machine. The only rooms that read clocks,
//! draw random bytes and do I/O; they import `words` and nothing else of the house.

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
pub mod sockets;
pub mod system;
pub mod tally;
pub mod tasks;
