//! What the machine gives: clock, random bytes, sockets, descriptors, key files, tasks, and its words for what failed.
//!
//! Only here are clocks read and tasks started. Nothing here knows a record or a listener.

pub mod clock;
pub mod descriptors;
pub mod failpoint;
pub mod folder_copying;
pub mod keyfiles;
pub mod limits;
pub mod pager;
pub mod signing_key;
pub mod sockets;
pub mod system;
pub mod tally;
pub mod tasks;
pub mod watched;
