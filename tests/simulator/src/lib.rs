//! Whole organisms in simulated time: the real pump and the real log in memory, and around them a world
//! whose clock, disk, network, clients and listeners are drawn from one seed, faults included. The same
//! seed gives the same bytes in the log.
//!
//! It never reads a clock, starts no thread of its own beside `sweep`'s, and has no door into the product:
//! it stands at the ports. A seed goes in; what was found wrong comes out, with the counts of what the run
//! went through.
//!
//! In reading order: `cast` is the organism, `clients` and `listeners` are who speaks, `disk`, `scribe` and
//! `glass` are the log's surroundings, `outside` are the ports, `world` moves all of it, `watch` judges.
//! A second, naive pump stands beside the real one in this crate's tests. `docs/reference/simulator.md` says
//! what this shows and what it cannot show.

mod agenda;
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

/// Plays a seed to its end.
pub fn play(seed: u64, plant: Option<Plant>) -> Outcome {
    world::World::new(seed, plant).plays()
}
