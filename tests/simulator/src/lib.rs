//! Whole organisms in simulated time: the real pump and the real log in memory, and around them a world
//! whose clock, disk, network, clients and listeners are drawn from one seed, faults included. The same seed
//! gives the same bytes in the log.
//!
//! It never reads a clock, starts no threads except those of `sweep`, and has no hooks in the product: it
//! implements the ports. The input is a seed; the output is the faults that were found, and counts of what
//! happened in the run.
//!
//! In reading order: `cast` is the organism, `clients` and `listeners` are the senders, `broker` and `carrier` are
//! between the pump and workers on other machines, `disk`, `scribe` and `glass` surround the log, `outside` has the
//! ports, `world` moves all of it, `watch` judges. This crate's
//! tests have a second, naive pump next to the real one. `docs/reference/simulator.md` says what this shows
//! and what it cannot show.

mod agenda;
mod broker;
mod carrier;
mod cast;
mod clients;
mod disk;
mod glass;
mod listeners;
mod outside;
mod plant;
mod primitives;
mod scribe;
mod sweep;
mod watch;
mod weather;
mod world;

pub use plant::Plant;
pub use sweep::{Sweep, sweep};
pub use watch::Finding;
pub use world::outcome::Outcome;

/// Runs a seed to its end.
pub fn play(seed: u64, plant: Option<Plant>) -> Outcome {
    world::World::new(seed, plant).plays()
}
