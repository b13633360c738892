//! The suite of the simulator: that the pump stands its storms, and that the simulator would tell if it
//! did not.
#![cfg(test)]

mod model;
mod planted;
mod seeds;
