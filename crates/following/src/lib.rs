//! Follows the log, and one run in it, for a client: what is on record, and then what comes, with the words on their way.
//!
//! A handle of a running organism comes in; events go out. Nothing here knows a protocol or a route.

pub mod events;
pub mod limits;
pub mod named_threads;
pub mod outcome;
pub mod run_follower;
pub mod run_ids;
pub mod said_thought;
pub mod wire_events;
