//! The only suite of the core: the pump event by event, the engine between fake ports, and what both make of a log.
#![cfg(test)]

mod decide_stage;
mod engine;
mod log_format;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../../../../tests/suite/log_records.rs"]
mod log_records;
mod log_rot;
mod pump;
mod rig;
mod rules;
#[expect(dead_code, reason = "other suites use the rest")]
mod shaky_log;
