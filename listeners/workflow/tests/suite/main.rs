//! The tests of the workflow listener.
#![cfg(test)]

mod goal_requests;
mod shown_texts;
