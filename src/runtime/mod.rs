//! The organism: from its file to the running whole.
//!
//! This room reads what a composer wrote and refuses what cannot run. It decides nothing about
//! messages. In comes a path, out comes a checked composition, or every mistake in the file.

pub mod agentfile;
pub mod bench;
pub mod broker;
pub mod copying;
pub mod file;
pub mod front;
pub mod hosting;
mod keeping;
pub mod keyring;
pub mod order;
pub mod permissions;
mod refusals;
pub mod runfile;
pub mod running;
pub mod skipping;
pub mod spoken;
pub mod standing_by;
pub mod tail;
pub mod trying;
pub mod validators;
pub mod waiting;
