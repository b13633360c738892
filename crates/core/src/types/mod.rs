//! The data types: names, records, refusals, the composition, and the ports that crates above the core implement.
//!
//! Pure data. This module reads no clock, draws no id and does no I/O. It may import the kit and
//! no other module.

pub mod body_parts;
pub mod budget;
pub mod client;
pub mod codes;
pub mod composition;
pub mod delivery;
pub mod door_settings;
pub mod fast_maps;
pub mod fields;
pub mod flow;
pub mod ids;
pub mod limits;
pub mod log_records;
pub mod person;
pub mod ports;
pub mod primitive;
pub mod public_origin;
pub mod rate;
pub mod record;
pub mod refusal;
pub mod schedule;
pub mod subject;
pub mod thread_choice;
pub mod time;
