//! The client against real servers and against one that does what no server should; mapping without the judge, pins, and
//! differences. `tests/suite/mcp` of the root crate holds the tests with libxml2 and with a whole organism.
#![cfg(test)]

mod at_address;
#[path = "../../../../tests/suite/golden.rs"]
mod golden;
mod hostile;
mod keywords;
mod pins;
mod real_tools;
mod servers;
mod tools;
