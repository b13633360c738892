//! Tools of MCP servers as elements of an organism.

mod adding;
mod asking;
mod at_address;
mod cancelling;
pub(crate) mod doors_house;
mod effects;
mod forms;
mod grammar;
mod host;
mod hostile_packages;
mod hosts;
mod house;
mod installing;
mod listeners;
mod login;
mod mapping;
mod pictures;
mod resources;
mod samples;
mod sent_files;
mod server_conformance;
mod serving;
mod shapes;
mod shown_files;
