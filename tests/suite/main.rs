//! The one suite of the root crate: a module per topic.

mod delivery_process;
mod stage;
