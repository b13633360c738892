//! The only suite of the log: the file, its faults and its writer, without an organism.
#![cfg(test)]

mod log_faults;
mod log_file;
mod log_large;
mod log_places;
#[expect(dead_code, reason = "other suites use the rest")]
#[path = "../../../../tests/suite/log_records.rs"]
mod log_records;
mod log_writer;
#[expect(dead_code, unreachable_pub, reason = "the soak uses the rest, as another crate")]
#[path = "../../../../tests/soak/src/dice.rs"]
mod seeded_dice;
