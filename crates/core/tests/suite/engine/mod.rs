//! The tests of the engine between fake ports, with what `rig.rs` gives them.

mod checkpoints;
mod deliveries;
mod drained;
mod elsewhere;
mod holding;
mod journal;
mod keeping;
mod memory;
mod naming;
mod outages;
mod parking;
mod reading;
mod receipts;
mod recovery;
mod schedules;
mod throttled;
mod timers;
mod trials;
mod viewing;
mod wall;
mod writer;

use std::collections::BTreeMap;

use crate::rig::*;
