//! The suite of the simulator: the pump passes its storms, and the simulator would report it if it did
//! not.
#![cfg(test)]

mod model;
mod planted;
mod seeds;
