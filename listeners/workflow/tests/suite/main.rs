//! The tests of the workflow listener.
#![cfg(test)]

mod goal_requests;
#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod shown_texts;
