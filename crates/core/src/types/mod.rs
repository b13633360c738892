//! What things are: names, records, refusals, the composition, and the ports that edges implement.
//!
//! Pure data. This room reads no clock, draws no id and does no I/O; it may import the kit and
//! nothing else of the house.

pub mod budget;
pub mod client;
pub mod codes;
pub mod composition;
pub mod fields;
pub mod flow;
pub mod ids;
pub mod limits;
pub mod person;
pub mod ports;
pub mod primitive;
pub mod record;
pub mod refusal;
pub mod time;
