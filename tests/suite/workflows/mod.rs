//! Workflows from the outside: the real program follows goals, with the mock of a provider behind its agents.

mod changed;
mod house;
mod kills;
mod large;
mod picture;
mod retries;
mod runs;
mod shown;
mod supervision;
mod tasks;
mod whole;
