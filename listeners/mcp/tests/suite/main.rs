//! The tests of the crate: mapping without the judge, pins, and differences. `tests/suite/mcp` of the root crate holds
//! the tests with libxml2.
#![cfg(test)]

#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod keywords;
mod pins;
mod real_tools;
