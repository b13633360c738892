//! The only suite of the kit: a module per topic, one binary to build and run.
#![cfg(test)]

mod adversarial;
mod asking;
mod blows;
mod compact;
mod elements;
mod envelope;
mod extract;
mod fields;
mod framing;
mod gate;
#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod journal;
mod json;
mod json_marks;
mod open_calls;
mod part;
mod payload;
mod reply;
mod schema;
mod schema_imports;
mod schema_kinds;
mod stdio;
mod writer;
