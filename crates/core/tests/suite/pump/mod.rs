//! The tests of the state machine, event by event, with what `decide_stage.rs` gives them.

mod approvals;
mod awaiting;
mod broadcast;
mod buckets;
mod budgets;
mod calls;
mod cancelling;
mod clearing;
mod clients;
pub(crate) mod cut;
mod ends;
mod failures;
mod introspection;
mod journal;
mod loops;
mod meetings;
mod models;
mod named;
mod outside;
mod overheard;
mod pauses;
mod questions;
mod requests;
mod retries;
mod spoken;
mod steering;
mod threads;
mod timers;
mod todos;
pub(crate) mod unknown;
mod views;
pub(crate) mod wall;
mod wrapping;

use systole_core::pump::event::{ClientOrder, PumpNotice};

use crate::decide_stage::*;
